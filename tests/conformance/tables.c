/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/tables.h"

#define LIST_TABLE(table) table,
const kit_case *const kit_tables[] = {CONFORMANCE_TABLES(LIST_TABLE) NULL};
