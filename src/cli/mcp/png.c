/* SPDX-License-Identifier: Apache-2.0 */
/* png.c: draws SVG by librsvg.
 *
 * The library is loaded when it is first needed, and never linked: it brings cairo, pango and GLib, which would slow
 * every command down. Functions of these are found through it. */
#include "cli/mcp/png.h"

#include <stdio.h>

#ifdef COBRE_RSVG_LIBRARY
#include <dlfcn.h>
#include <librsvg/rsvg.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/usual_floats.h"

#define FUNCTIONS(X)                                                                                                   \
    X(rsvg_handle_new_from_data)                                                                                       \
    X(rsvg_handle_get_intrinsic_size_in_pixels)                                                                        \
    X(rsvg_handle_render_document)                                                                                     \
    X(cairo_image_surface_create)                                                                                      \
    X(cairo_create)                                                                                                    \
    X(cairo_scale)                                                                                                     \
    X(cairo_status)                                                                                                    \
    X(cairo_surface_write_to_png_stream)                                                                               \
    X(cairo_destroy)                                                                                                   \
    X(cairo_surface_destroy)                                                                                           \
    X(g_object_unref)                                                                                                  \
    X(g_error_free)

static struct {
#define FUNCTION_POINTER(name) __typeof__(name) *name;
    FUNCTIONS(FUNCTION_POINTER)
#undef FUNCTION_POINTER
} rsvg;

/* The server has one thread. */
const char *cb_png_missing(void) {
    static bool tried;
    static char why[CB_PNG_WHY];
    if (tried)
        return *why ? why : NULL;
    tried = true;
    CB_USUAL_FLOATS();
    void *library = dlopen(COBRE_RSVG_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, sizeof why, "%.250s", dlerror());
        return why;
    }
#define FIND(name)                                                                                                     \
    *(void **)&rsvg.name = dlsym(library, #name);                                                                      \
    if (!rsvg.name)                                                                                                    \
        snprintf(why, sizeof why, COBRE_RSVG_LIBRARY " has no " #name);
    FUNCTIONS(FIND)
#undef FIND
    return *why ? why : NULL;
}

static cairo_status_t add_bytes(void *to, const unsigned char *bytes, unsigned length) {
    return fwrite(bytes, 1, length, to) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static bool write_png(cairo_surface_t *surface, char **png, size_t *size) {
    FILE *to = open_memstream(png, size);
    bool good = to && rsvg.cairo_surface_write_to_png_stream(surface, add_bytes, to) == CAIRO_STATUS_SUCCESS;
    if (to && fclose(to) != 0)
        good = false;
    if (!good && to)
        free(*png);
    return good;
}

static bool draw(RsvgHandle *handle, double scale, char **png, size_t *size) {
    double width = 0, height = 0;
    if (!rsvg.rsvg_handle_get_intrinsic_size_in_pixels(handle, &width, &height))
        return false;
    RsvgRectangle page = {.width = width, .height = height};
    cairo_surface_t *surface =
        rsvg.cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)(scale * width), (int)(scale * height));
    cairo_t *cairo = rsvg.cairo_create(surface);
    rsvg.cairo_scale(cairo, scale, scale);
    bool good = rsvg.rsvg_handle_render_document(handle, cairo, &page, NULL) &&
                rsvg.cairo_status(cairo) == CAIRO_STATUS_SUCCESS && write_png(surface, png, size);
    rsvg.cairo_destroy(cairo);
    rsvg.cairo_surface_destroy(surface);
    return good;
}

bool cb_png_of_svg(const char *svg, size_t length, double scale, char **png, size_t *size, char why[CB_PNG_WHY]) {
    CB_USUAL_FLOATS();
    const char *missing = cb_png_missing();
    if (missing) {
        snprintf(why, CB_PNG_WHY, "%s", missing);
        return false;
    }
    GError *error = NULL;
    RsvgHandle *handle = rsvg.rsvg_handle_new_from_data((const guint8 *)svg, length, &error);
    bool good = handle && draw(handle, scale, png, size);
    if (!good)
        snprintf(why, CB_PNG_WHY, "%.250s", error ? error->message : "the picture cannot be drawn");
    if (error)
        rsvg.g_error_free(error);
    if (handle)
        rsvg.g_object_unref(handle);
    return good;
}

#else

const char *cb_png_missing(void) {
    return "this cobre was built without librsvg (Debian: librsvg2-dev)";
}

bool cb_png_of_svg(const char *svg, size_t length, double scale, char **png, size_t *size, char why[CB_PNG_WHY]) {
    (void)svg;
    (void)length;
    (void)scale;
    (void)png;
    (void)size;
    snprintf(why, CB_PNG_WHY, "%s", cb_png_missing());
    return false;
}

#endif
