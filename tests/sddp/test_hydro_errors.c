/* SPDX-License-Identifier: Apache-2.0 */
/* test_hydro_errors.c: each mistake in a case is found, once, at its file and line; and no bytes crash the reader.
 *
 * A mistake is an edit of a case that is right. */
#include <sys/stat.h>
#include <unistd.h>

#include "sddp/hydro_kit.h"

static kit_result r;

static const kit_mistake mistakes[] = {
    /* case.json */
    {"toy", "case.json", NULL, NULL, NULL, 0, "cannot be read: No such file"},
    {"toy", "case.json", "[\"main\"]", "[\"main\"", NULL, 7, "is not JSON"},
    {"toy", "case.json", NULL, "[1]", NULL, 1, "is not a JSON object"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": \"3\"", NULL, 5, "/stages"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 2.5", NULL, 5, "2.5 is not a whole number"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 0", NULL, 5, "0 is out of range"},
    {"toy", "case.json", "\"stages\": 3,", "", NULL, 1, "\"stages\" is missing"},
    {"toy", "case.json", "\"stages\": 3", "\"stagse\": 3", NULL, 5, "unknown key \"stagse\"; closest name: stages"},
    {"brazil3", "case.json", "\"inflow\"", "\"inflows\"", NULL, 17, "unknown key \"inflows\"; closest name: inflow"},
    {"brazil3", "case.json", "\"history\"", "\"historic\"", NULL, 18, "\"historic\" is not allowed here"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3, \"comment\": 1", NULL, 5,
     "\"comment\" -- remove it, or correct"},
    {"toy", "case.json", "\"units\": \"energy\"", "\"units\": \"hm3\"", NULL, 3, "use one of \"water\", \"energy\""},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3, \"stage\": 1", NULL, 5,
     "\"stage\"; closest name: stages -- remove it, or correct it to one of: name, units, time_unit, stages,"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3, \"stages\": 4", NULL, 5, "duplicate"},
    {"toy", "case.json", "[\"main\"]", "[\"main\", \"main\"]", NULL, 6, "\"main\" is there twice"},
    {"toy", "case.json", "[\"main\"]", "[]", NULL, 6, "there are no subsystems"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3,\n\"cycle\": {\"too\": 1, \"probability\": 0.5}", NULL, 6,
     "one of: to, probability"},
    {"toy", "case.json", "\"units\": \"energy\"", "\"units\": \"water\"", NULL, 4, "months go with energy units only"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3, \"discount\": 12", NULL, 5, "12 is out of range"},
    {"cascade", "case.json", "\"annual_rate\": 0.1", "\"annual_rate\": 10", NULL, 7, "like 0.12 for 12 % a year"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3, \"first_season\": 2", NULL, 5, "without \"seasons\""},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3,\n\"risk\": {\"beta\": 0.5}", NULL, 6, "\"alpha\" is missing"},
    {"reservoir", "case.json", "\"probability\": 0.9", "\"probability\": 1", NULL, 7, "/cycle/probability"},
    {"cascade", "case.json", "\"seed\": 1", "\"years\": [1, 2]", NULL, 9, "goes with the source \"history\" only"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3,\n\"terminal\": 5", NULL, 6, "is not a path, or an object"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3,\n\"terminal\": {\"stage\": 5}", NULL, 6,
     "\"file\" is missing -- add it: the path of a policy file, or of a table (.csv)"},
    {"toy", "case.json", "\"stages\": 3",
     "\"stages\": 3,\n\"terminal\": {\"file\": \"x\", \"stage\": 1,\n\"node\": \"a\"}", NULL, 6,
     "there are a \"node\" and a \"stage\" -- keep one"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3,\n\"terminal\": {\"file\": \"x\", \"stages\": 1}", NULL, 6,
     "one of: file, node, stage"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3,\n\"terminal\": {\"file\": \"x\", \"stage\": 0}", NULL, 6,
     "0 is out of range -- give a stage of the other case"},
    {"reservoir", "case.json", "\"stages\": 1", "\"stages\": 1, \"terminal\": \"x.csv\"", NULL, 5,
     "two things come after the last stage -- keep one"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3,\n\"terminal\": \"policy.cobre\"", NULL, 6,
     "policy.cobre: cannot read: No such file or directory -- check the name"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3,\n\"terminal\": \"load.txt\"", NULL, 6,
     "load.txt: cannot read"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3,\n\"terminal\": \"case.json\"", NULL, 6,
     "case.json: this is not a policy file"},
    {"toy", "case.json", "\"stages\": 3", "\"stages\": 3, \"terminal\": \"cuts.csv\"", "cuts.csv", 0, "cannot be read"},
    /* tables as such */
    {"toy", "thermals.csv", "gas,main,0,80,50", "gas,main,0,80", NULL, 2, "has 4 fields"},
    {"toy", "thermals.csv", "cost", "cots", NULL, 1, "unknown column \"cots\"; closest name: cost; others: thermal, "},
    {"toy", "thermals.csv", "max", "note", NULL, 0, NULL},
    {"toy", "thermals.csv", "cost", "note", NULL, 1, "there is no column \"cost\" -- add it"},
    {"toy", "thermals.csv", "min,", "mim,", NULL, 1,
     "unknown column \"mim\"; closest name: min; others: thermal, subsystem, max, cost -- "},
    {"toy", "thermal.csv", NULL, "thermal,subsystem,cost\n", NULL, 0, "closest name: thermals.csv"},
    {"toy", "Exchanges.csv", NULL, "from,to\n", NULL, 0, "closest name: exchanges.csv"},
    {"toy", "_my remarks and all that does not belong to a table.CSV", NULL, "x\n", NULL, 0,
     "unknown table; closest name"},
    {"toy", "load.csv", NULL, NULL, NULL, 0, "cannot be read"},
    /* thermals */
    {"toy", "thermals.csv", "gas,main", "gas,mian", NULL, 2, "unknown subsystem \"mian\"; closest name: main -- "},
    {"toy", "thermals.csv", "gas,main", "gas,", NULL, 2, "the subsystem is missing"},
    {"toy", "thermals.csv", "0,80,50", "90,80,50", NULL, 2, "min 90 is above max 80"},
    {"toy", "thermals.csv", "0,80,50", "-1,80,50", NULL, 2, "-1 is below 0"},
    {"toy", "thermals.csv", "0,80,50", "0,80,", NULL, 2, "is empty -- give the cost of a MWh"},
    {"toy", "thermals.csv", "0,80,50", "0,80,\"1,5\"", NULL, 2, "write a decimal point"},
    {"toy", "thermals.csv", "0,80,50", "0,nan,50", NULL, 2, "\"nan\" is not a number"},
    {"toy", "thermals.csv", "0,80,50", "0,80,5x", NULL, 2, "\"5x\" is not a number"},
    {"toy", "thermals.csv", "0,80,50", "0,80,50\ngas,main,0,1,2", NULL, 3, "\"gas\" is there twice"},
    {"toy", "thermals.csv", "gas,main", "\"gas[1]\",main", NULL, 2, "is not a valid name"},
    {"toy", "thermals.csv", "0,80,50", "150,180,50", NULL, 0, "generate at least 150 MW"},
    {"cascade", "thermals.csv", "oil,north", "oil,noth", NULL, 4,
     "unknown subsystem \"noth\"; closest name: north; others: south"},
    /* hydros */
    {"toy", "hydros.csv", "200,100,100", "200,300,100", NULL, 2, "storage_initial 300 is not between"},
    {"cascade", "hydros.csv", "0.85,400", "0.85,5000", NULL, 2, "storage_min 5000 is above storage_max 4200"},
    {"cascade", "hydros.csv", "0.85,400", "850,400", NULL, 2, "MW for each m3/s, below 20"},
    {"cascade", "hydros.csv", "head,north,0.85", "head,north,", NULL, 2, "is empty -- give MW for each m3/s"},
    {"cascade", "hydros.csv", "250,20,,", "250,,,", NULL, 4, "outflow_min without outflow_penalty"},
    {"cascade", "hydros.csv", ",gorge,\n", ",gorg,\n", NULL, 2,
     "unknown hydro \"gorg\"; closest name: gorge; others: head, mouth"},
    {"cascade", "hydros.csv", "250,20,,", "250,20,head,", NULL, 2, "its water comes back to it"},
    {"cascade", "hydros.csv", "250,20,,", "250,20,,gorge", NULL, 3, "its water comes back to it"},
    {"cascade", "hydros.csv", "250,20,,", "2e9,20,,", NULL, 0, NULL},
    {"brazil3", "hydros.csv", "0.001,6632.5141", "0.001,", NULL, 3, "known for some hydros only"},
    {"brazil3", "hydros.csv", "hydro,", "productivity,hydro,", NULL, 2, "has 7 fields"},
    /* exchanges and deficits */
    {"cascade", "exchanges.csv", "south,north", "south,nroth", NULL, 3, "unknown subsystem \"nroth\""},
    {"cascade", "exchanges.csv", "south,north", "south,south", NULL, 3, "from south to itself"},
    {"cascade", "exchanges.csv", "south,north", "north,south", NULL, 3, "is there twice, first in line 2"},
    {"cascade", "exchanges.csv", "400,0.5,0.03", "400,0.5,3", NULL, 3, "3 % is 0.03"},
    {"cascade", "deficits.csv", "first,0.05", "first,5", NULL, 2, "5 % is 0.05"},
    {"cascade", "deficits.csv", "second,", "first,", NULL, 3, "tier \"first\" is there twice"},
    {"toy", "deficits.csv", "1,1,500", "1,1,-1", NULL, 2, "-1 is below 0"},
    {"toy", "hydros.csv", "200,100,100", "200,100,5", "load.csv", 0, NULL},
    {"toy", "deficits.csv", NULL, NULL, NULL, 0, NULL},
    /* time */
    {"cascade", "stages.csv", "3,mar", "2,mar", NULL, 4, "stage 2 is there twice, first in line 3"},
    {"cascade", "stages.csv", "12,dec", "13,dec", NULL, 13, "\"13\" is no stage of this case"},
    {"cascade", "stages.csv", "12,dec", "12,jan", NULL, 13, "both called \"jan\""},
    {"cascade", "blocks.csv", "0.15", "15", NULL, 2, "not hours or percent"},
    {"cascade", "blocks.csv", "0.15", "0.25", NULL, 1, "add up to 1.1, not 1"},
    {"cascade", "blocks.csv", "middle,0.5", "peak,0.5", NULL, 3, "block \"peak\" is there twice"},
    {"cascade", "load.csv", "12,low", "12,lo", NULL, 37,
     "unknown block \"lo\"; closest name: low; others: peak, middle"},
    {"cascade", "load.csv", "12,low", "12,peak", NULL, 37, "season 12, block peak is there twice"},
    {"cascade", "load.csv", "1,peak,", "1,peak,-", NULL, 2, "below 0"},
    {"cascade", "load.csv", "north,", "nort,", NULL, 1,
     "unknown column \"nort\"; closest name: north; others: block, "},
    {"cascade", "load.csv", "north,", "note,", NULL, 1,
     "there is no column \"north\" -- add one with the load of this subsystem in MW, or declare it as"},
    {"cascade", "blocks.csv", NULL, NULL, "load.csv", 1, "there are no blocks: the case has no blocks.csv"},
    {"toy", "load.csv", NULL, "season,main\n1,100\n", NULL, 1, "the case has no seasons"},
    {"toy", "load.csv", NULL, "stage,main\n1,100\n3,100\n", NULL, 1, "there is no line for stage 2"},
    {"toy", "load.csv", NULL, "stage,main\n1,100\n2,100\n3,100\n4,100\n", NULL, 5, "\"4\" is no stage of this case"},
    /* inflows */
    {"toy", "inflows.csv", NULL, NULL, NULL, 0, "cannot be read"},
    {"toy", "inflows.csv", "2,0.5,20", "2,0.6,20", NULL, 3, "stage 2: the probabilities of its outcomes add up to 1.1"},
    {"toy", "inflows.csv", "1,1,50\n", "", NULL, 1, "there is no outcome for stage 1"},
    {"toy", "hydros.csv", NULL, NULL, "inflows.csv", 1,
     "is not a hydro plant: the case has none -- add it to hydros.csv"},
    {"toy", "inflows.csv", "lake", "lakes", NULL, 1, "unknown column \"lakes\"; closest name: lake; others: "},
    {"toy", "inflows.csv", "lake", "note", NULL, 1, "there is no column \"lake\" -- add one with the inflow of this"},
    {"toy", "inflows.csv", "2,0.5,20", "2,0.5,", NULL, 3, "is empty"},
    {"toy", "inflows.csv", "2,0.5,20", "2,50,20", NULL, 3, "50 is above 1"},
    {"brazil3", "history.csv", "1931,2,86488.31", "1931,3,86488.31", NULL, 4, "season 3 of year 1931 is there twice"},
    {"brazil3", "history.csv", "1931,2,86488.31", "1931,13,86488.31", NULL, 3, "\"13\" is no season of this case"},
    {"brazil3", "history.csv", "1931,2,86488.31", "1931,2,NA", NULL, 3, "\"NA\" is not a number"},
    {"brazil3", "case.json", "\"source\"", "\"years\": [1800, 1801], \"source\"", "history.csv", 1, "there is no year"},
    {"cascade", "par.csv", "head,1,", "haed,1,", NULL, 2, "unknown hydro \"haed\""},
    {"cascade", "par.csv", "head,2,", "head,1,", NULL, 3, "hydro head is there twice for this season"},
    {"cascade", "past_inflows.csv", "2,450,,200\n", "", NULL, 1,
     "hydro head: its inflow 2 stages before the first is missing"},
    {"cascade", "past_inflows.csv", NULL, NULL, NULL, 0, "cannot be read"},
    {"cascade", "correlation.csv", "head,1,0.8,0.6", "head,1,0.8,0.5", NULL, 1, "make it symmetric"},
    {"cascade", "correlation.csv", "head,1,0.8,0.6", "head,4,0.8,0.6", NULL, 2, "4 is above 1"},
    {"cascade", "correlation.csv", "mouth,0.6,0.7,1\n", "", NULL, 1, "hydro mouth has no line"},
    {"cascade", "correlation.csv", NULL, "hydro,head,gorge,mouth\nhead,1,0.9,0.9\ngorge,0.9,1,-0.9\nmouth,0.9,-0.9,1\n",
     NULL, 1, "not positive semidefinite"},
    /* changes */
    {"cascade", "changes.csv", "coal,max", "coals,max", NULL, 2, "unknown thermal \"coals\""},
    {"cascade", "changes.csv", "coal,max", "coal,most", NULL, 2, "use one of: min, max, cost"},
    {"cascade", "changes.csv", "7,thermals", "7,plants", NULL, 2, "unknown table \"plants\""},
    {"cascade", "changes.csv", "coal,max,175", "coal,max,-5", NULL, 2, "-5 is below 0"},
    {"cascade", "changes.csv", "7,thermals,coal,min,0", "7,thermals,coal,min,200", NULL, 2, "min 200 is above max 175"},
    {"cascade", "changes.csv", "8,thermals,coal,max", "7,thermals,coal,max", NULL, 4,
     "changes the same number as line 2"},
};

static void each_mistake(void) {
    kit_each_mistake(mistakes, sizeof mistakes / sizeof *mistakes);
}

/* Mistakes in different files are all found in one reading. */
static void all_at_once(void) {
    kit_copy("cascade");
    kit_edit("thermals.csv", "coal,south", "coal,suoth");
    kit_edit("thermals.csv", "120,140", "120,x");
    kit_edit("hydros.csv", "0.42", "42");
    kit_edit("exchanges.csv", "500,", "-500,");
    kit_edit("deficits.csv", "0.85", "85");
    kit_edit("load.csv", "3,low,", "3,low,-");
    kit_edit("blocks.csv", "0.35", "0.3");
    kit_edit("stages.csv", "5,may,744", "5,may,0");
    kit_edit("case.json", "0.1,", "10,");
    kit_read(&r);
    static const char *const expected[] = {"case.json",    "stages.csv",    "blocks.csv",
                                           "hydros.csv",   "thermals.csv",  "thermals.csv",
                                           "deficits.csv", "exchanges.csv", "load.csv"};
    if (r.count != sizeof expected / sizeof *expected)
        kit_show(&r);
    CHECK_EQ(r.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < r.count; i++)
        CHECK_TEXT(r.issue[i].file, expected[i]);
    kit_free(&r);
}

/* A table that may be left out, but is a link to nothing: without it the case would be another. */
static void dangling(void) {
    char path[128];
    kit_copy("cascade");
    kit_remove("changes.csv");
    snprintf(path, sizeof path, "%s/changes.csv", kit_folder);
    CHECK_EQ(symlink("nothing-here.csv", path), 0);
    kit_read(&r);
    CHECK_EQ(r.count, 1);
    CHECK_TEXT(r.issue[0].file, "changes.csv");
    CHECK_HOLDS(r.issue[0].message, "cannot be read: No such file");
    kit_free(&r);
    kit_remove("changes.csv");
}

/* The last stage of the toy case takes its future cost from a table, which may lie in the folder of the case. */
static void tables_of_cuts(void) {
    static const struct {
        const char *terminal, *table, *file;
        size_t line;
        const char *expected; /* NULL: no error */
    } tables[] = {
        {"\"cuts.csv\"", "node,outcome,iteration,intercept,storage[lake]\n3,,1,10,-2\n3,,,9,0\n", NULL, 0, NULL},
        {"\"./cuts.csv\"", "intercept,storage[lake],note\n10,-2,mine\n", NULL, 0, NULL},
        {"\"cuts.csv\"", "\xEF\xBB\xBF\"intercept\",\"Storage[lake]\"\r\n10,-2\r\n", NULL, 0, NULL},
        {"{\"file\": \"cuts.csv\", \"node\": \"b\"}", "node,intercept,storage[lake]\na,x,y\nb,1,-1\n", NULL, 0, NULL},
        {"{\"file\": \"cuts.csv\", \"stage\": 7}", "node,intercept,storage[lake]\na,x,y\n7,1,-1\n", NULL, 0, NULL},
        {"\"cuts.csv\"", "node,storage[lake]\n3,-2\n", "cuts.csv", 1, "there is no column \"intercept\" -- add it"},
        {"\"cuts.csv\"", "intercept,storage[lake],storage[pond]\n1,-2,3\n", "cuts.csv", 1,
         "unknown column \"storage[pond]\"; closest name: storage[lake]; others: node, outcome, iteration, intercept "
         "-- "
         "correct"},
        {"\"cuts.csv\"", "intercept,storage[lake]\n1,-2\n1,many\n", "cuts.csv", 3, "\"many\" is not a number"},
        {"\"cuts.csv\"", "intercept,storage[lake]\n1,-2\n,-2\n", "cuts.csv", 3, "is empty -- give a number"},
        {"\"cuts.csv\"", "intercept,storage[lake]\n1e300,-2\n", "cuts.csv", 2,
         "the intercept of a terminal cut is 1e+300"},
        {"\"cuts.csv\"", "intercept,storage[lake]\n1\n", "cuts.csv", 2, "has 1 field"},
        {"\"cuts.csv\"", "intercept,storage[lake]\n", "case.json", 5,
         "cuts.csv has no cuts -- give a policy with cuts"},
        {"\"cuts.csv\"", "outcome,intercept,storage[lake]\n,1,-2\n2,1,-2\n", "cuts.csv", 3,
         "is a cut of one outcome: how likely the outcomes are is not known here -- train without --multi-cut, or"},
        {"\"cuts.csv\"", "node,intercept,storage[lake]\n1,1,-2\n2,1,-2\n", "case.json", 5,
         "cuts.csv has cuts of 2 nodes, 1, 2, and it is not clear whose are meant -- say whose: {\"file\": ..., "
         "\"node\": \"2\"}"},
        {"{\"file\": \"cuts.csv\", \"node\": \"c\"}", "node,intercept,storage[lake]\na,1,1\nb,1,1\n", "case.json", 5,
         "cuts.csv has no cuts of node \"c\", but of a, b -- take one of these"},
        {"{\"file\": \"cuts.csv\", \"stage\": 3}", "intercept,storage[lake]\n1,-1\n", "case.json", 5,
         "cuts.csv has no cuts of stage \"3\", but of a node without a name"},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char key[128];
        kit_copy("toy");
        snprintf(key, sizeof key, "\"stages\": 3, \"terminal\": %s", tables[i].terminal);
        kit_edit("case.json", "\"stages\": 3", key);
        kit_put("cuts.csv", tables[i].table);
        kit_read(&r);
        bool good = r.count == (tables[i].expected ? 1 : 0) && r.builder->warnings == 0;
        if (tables[i].expected && good)
            good = strcmp(r.issue[0].file, tables[i].file) == 0 && r.issue[0].line == tables[i].line &&
                   strstr(r.issue[0].message, tables[i].expected);
        if (!good)
            kit_show(&r);
        CHECK_SAY(good, "terminal %s, table %s", tables[i].terminal, tables[i].table);
        kit_free(&r);
    }
    kit_scramble("cuts.csv", 150, NULL);
}

/* A header that is wrong is one error, and not one per line, nor one per line of other tables. */
static void wrong_headers(void) {
    static const struct {
        const char *file, *old, *new;
        size_t errors;
    } headers[] = {
        {"load.csv", "season,block", "season,blocco", 1},
        {"blocks.csv", "block,", "bloc,", 1},
        {"hydros.csv", "hydro,", "hidro,", 1},
        {"par.csv", "hydro,", "plant,", 2},
        {"load.csv", "season,block", "SEASON,Block", 0},
        {"hydros.csv", "hydro,", "Hydro,", 0},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        kit_copy("cascade");
        kit_edit(headers[i].file, headers[i].old, headers[i].new);
        kit_read(&r);
        if (r.count != headers[i].errors)
            kit_show(&r);
        CHECK_EQ(r.count, headers[i].errors);
        kit_free(&r);
    }
}

/* A table in which a mistake is repeated in every line. */
static void repeated(void) {
    kit_copy("cascade");
    size_t size, lines = 0;
    char *text = kit_get("load.csv", &size);
    for (char *at = text; (at = strchr(at, '\n')) && at[1]; at++, lines++)
        at[1] = 'x';
    kit_put("load.csv", text);
    free(text);
    kit_read(&r);
    CHECK(lines > 20);
    CHECK_EQ(r.count, 20);
    CHECK_EQ(r.builder->errors, lines);
    CHECK_EQ(r.builder->issue[19].more, lines - 20);
    CHECK_EQ(r.builder->issue[18].more, 0);
    kit_free(&r);
}

/* Warnings are no more than errors of one kind, and are counted apart from them, though the text be the same. */
static void repeated_warnings(void) {
    static const char text[] = "the same";
    const cb_place at = {.file = "x.csv"};
    cobre_sddp_builder *builder;
    CHECK_EQ(cobre_sddp_builder_new("", false, &builder), 0);
    for (int i = 0; i < 25; i++)
        cb_warn_at(builder, &at, NULL, text);
    for (int i = 0; i < 22; i++)
        cb_error_at(builder, &at, NULL, text);
    for (int i = 0; i < 3; i++)
        cb_error_once(builder, &at, NULL, "another");
    CHECK_EQ(builder->warnings, 20);
    CHECK_EQ(builder->warning[19].more, 5);
    CHECK_EQ(builder->issues, 21);
    CHECK_EQ(builder->issue[19].more, 2);
    CHECK_EQ(builder->issue[20].more, 2);
    CHECK_EQ(builder->errors, 25);
    cobre_sddp_builder_free(&builder);
}

/* What is not a file is named, and not waited for. */
static void not_files(void) {
    static const char *const files[] = {"case.json", "load.csv", "changes.csv"};
    char path[128];
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (int kind = 0; kind < 3; kind++) {
            kit_copy("cascade");
            kit_remove(files[f]);
            snprintf(path, sizeof path, "%s/%s", kit_folder, files[f]);
            CHECK_EQ(kind == 0 ? mkfifo(path, 0600) : kind == 1 ? mkdir(path, 0700) : symlink("/dev/zero", path), 0);
            kit_read(&r);
            CHECK_EQ(r.count, 1);
            CHECK_TEXT(r.issue[0].file, files[f]);
            CHECK_HOLDS(r.issue[0].message, kind == 0   ? "is a pipe (FIFO), not a file"
                                            : kind == 1 ? "is a directory, not a file"
                                                        : "is a device or socket, not a file");
            kit_free(&r);
            CHECK_EQ(kind == 1 ? rmdir(path) : unlink(path), 0);
        }
}

/* Files as spreadsheets write them, each with one error that says what to do. */
static void spreadsheets(void) {
    static const struct {
        const char *file, *name, *text, *expected;
        size_t size;
    } saved[] = {
        {"load.csv", "load.csv", "season;block;north;south\n1;peak;1,5;2,5\n", "separated by \";\"", 0},
        {"load.csv", "load.csv", "season,block,north,south\n1;peak;1;2\n1;low;1;2\n", "separated by \";\"", 0},
        {"load.csv", "load.csv", "season\tblock\tnorth\tsouth\n1\tpeak\t1\t2\n", "separated by tabs", 0},
        {"load.csv", "load.csv", "season,block,north,south\n1,peak,1,5,2,5\n1,middle,1,5,-2,5\n",
         "has 6 fields, but the header names 4 columns: is there a decimal comma? -- write a decimal point", 0},
        {"load.csv", "load.csv", "season,block,north,south\n1,peak,\"1,5\",\"2,5\"\n1,middle,\"1.000,5\",2\n",
         "\"1,5\" is not a number: it has a comma -- write a decimal point", 0},
        {"load.csv", "load.csv", "\xFF\xFEs\0e\0", "is UTF-16 text -- save it as plain text, UTF-8", 6},
        {"load.csv", "load.xlsx", "PK", "as a workbook (.xlsx), which is not read -- save its sheet as CSV", 0},
        {"changes.csv", "changes.ods", "PK", "as a workbook (.ods), which is not read -- save its sheet as CSV", 0},
    };
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++) {
        kit_copy("cascade");
        kit_remove(saved[i].file);
        kit_put_bytes(saved[i].name, saved[i].text, saved[i].size ? saved[i].size : strlen(saved[i].text));
        kit_read(&r);
        if (r.count != 1)
            kit_show(&r);
        CHECK_EQ(r.count, 1);
        CHECK_TEXT(r.issue[0].file, saved[i].file);
        CHECK_HOLDS(r.issue[0].message, saved[i].expected);
        kit_free(&r);
    }
}

/* Legal numbers that are most likely meant otherwise. */
static void implausible(void) {
    static const struct {
        const char *base, *file, *old, *new, *expected; /* expected NULL: no warning */
    } numbers[] = {
        {"cascade", "deficits.csv", "0.85", "0.85", NULL},
        {"cascade", "deficits.csv", "0.85", "0.5", "its deficit tiers add up to 0."},
        {"cascade", "load.csv", "1,peak,835", "1,peak,83500", "stage 1, subsystem north: a load of 83500 MW"},
        {"cascade", "hydros.csv", "400,4200,2600", "0,4200,0.6", "hydro head: an initial storage of 0.6 hm3"},
        {"cascade", "hydros.csv", "400,4200,2600", "0.1,4200,2600", "hydro head: a minimum storage of 0.1 hm3, of at"},
        {"start", "hydros.csv", "400,3000,1800", "0.1,1,0.6", "hydro Upper: a storage of at most 1 hm3: is it a"},
        {"cascade", "rio.xlsx", NULL, "PK", "is a workbook, which is not read"},
        {"cascade", "~$rio.xlsx", NULL, "", NULL},
        {"start", "history.csv", "2005,1,471.8", "2005,1,-999",
         "hydro Upper: an inflow is -999, 1 time: does that mean"},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        kit_copy(numbers[i].base);
        if (numbers[i].old)
            kit_edit(numbers[i].file, numbers[i].old, numbers[i].new);
        else
            kit_put(numbers[i].file, numbers[i].new);
        kit_read(&r);
        kit_show(&r);
        CHECK_EQ(r.count, 0);
        CHECK_EQ(r.builder->warnings > 0, numbers[i].expected != NULL);
        if (numbers[i].expected)
            CHECK_HOLDS(r.builder->warning[0].message, numbers[i].expected);
        kit_free(&r);
    }
}

static void scrambled(void) {
    static const char *const files[] = {"case.json",  "stages.csv",       "blocks.csv",      "thermals.csv",
                                        "hydros.csv", "exchanges.csv",    "deficits.csv",    "load.csv",
                                        "par.csv",    "past_inflows.csv", "correlation.csv", "changes.csv"};
    kit_copy("cascade");
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        kit_scramble(files[f], 150, NULL);
    kit_read_well(&r);
    kit_free(&r);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(each_mistake),      CHECK_CASE(all_at_once),  CHECK_CASE(dangling),       CHECK_CASE(wrong_headers),
        CHECK_CASE(repeated),          CHECK_CASE(spreadsheets), CHECK_CASE(implausible),    CHECK_CASE(scrambled),
        CHECK_CASE(repeated_warnings), CHECK_CASE(not_files),    CHECK_CASE(tables_of_cuts), CHECK_END,
    };
    return kit_main(argc, argv, tests);
}
