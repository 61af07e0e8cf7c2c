/* SPDX-License-Identifier: Apache-2.0 */
/* render_chart.c: the tool render_chart: a picture of the report, as SVG and PNG, and as files. */
#include "cli/mcp/png.h"
#include "cli/mcp/study.h"
#include "sddp/hash.h"
#include "sddp/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cb_mcp_field input[] = {
    CB_MCP_RUN_FIELD(false),
    {.name = "runs",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_TEXT,
     .longest = CB_REPORT_MOST,
     .help = "instead of run: 2 to 6 folders of runs, in one picture"},
    {.name = "chart",
     .kind = CB_MCP_TEXT,
     .help = "its name, as stored_energy/north; or only stored_energy, for the first of those. Without it: lists the "
             "charts that there are, and draws none"},
    {.name = "png",
     .kind = CB_MCP_YES_NO,
     .fallback = "true",
     .help = "also as PNG, an image that you can look at; only where librsvg is there"},
    CB_MCP_PAGE_FIELDS("100"),
    {.name = NULL},
};

static const struct cb_mcp_field chart_fields[] = {
    {.name = "name", .kind = CB_MCP_TEXT, .required = true, .help = "for the argument chart"},
    {.name = "title", .kind = CB_MCP_TEXT, .required = true, .help = "of the picture"},
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "chart", .kind = CB_MCP_TEXT, .help = "its full name; this and what follows only if one was asked for"},
    {.name = "title", .kind = CB_MCP_TEXT, .help = "of the picture"},
    {.name = "svg", .kind = CB_MCP_TEXT, .help = "path of the SVG file"},
    {.name = "svg_bytes", .kind = CB_MCP_WHOLE, .help = "of that file"},
    {.name = "svg_included",
     .kind = CB_MCP_YES_NO,
     .help = "the SVG is in this answer, too, without what the file shows under the pointer; false: it is too long"},
    {.name = "png", .kind = CB_MCP_TEXT, .nullable = true, .help = "path of the PNG file; null: there is none"},
    {.name = "png_bytes", .kind = CB_MCP_WHOLE, .nullable = true, .help = "of that file"},
    {.name = "note", .kind = CB_MCP_TEXT, .nullable = true, .help = "why there is no PNG"},
    {.name = "charts",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = chart_fields,
     .help = "if none was asked for: those that there are"},
    CB_MCP_NEXT_FIELD,
    {.name = NULL},
};

enum { MOST_SVG = 14000 }; /* characters in the answer */

/* A picture on its way into files. */
struct render {
    struct cb_mcp_call *call;
    const char *path[CB_REPORT_MOST];
    size_t runs;
    struct cb_pictures pictures;
    const struct cb_picture *picture;
    struct cb_place folder;
    char stem[256]; /* of the names of its files */
    json_t *facts;
};

/* "cas-1a2b3c4d-stored_energy-north": the same picture of the same runs is the same file. */
static void name_files(struct render *render) {
    const char *slash = strrchr(render->path[0], '/');
    uint64_t hash = CB_HASH_START;
    for (size_t i = 0; i < render->runs; i++)
        cb_hash_text(&hash, render->path[i]);
    snprintf(render->stem, sizeof render->stem, "%.60s-%08" PRIx32 "-%.120s", slash ? slash + 1 : "run", (uint32_t)hash,
             render->picture->name);
    for (char *at = render->stem; *at; at++)
        if (*at == '/' || (unsigned char)*at < ' ')
            *at = '-';
}

/* Beside first, then it takes its place. */
static bool write_file(const struct render *render, const char *ending, const char *bytes, size_t size) {
    char name[288], part[304];
    snprintf(name, sizeof name, "%s%s", render->stem, ending);
    snprintf(part, sizeof part, ".%s.part", name);
    unlinkat(render->folder.fd, part, 0); /* of a server that was killed, or whatever it is */
    int fd = openat(render->folder.fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
    if (fd >= 0 && !to)
        close(fd);
    bool good = to && fwrite(bytes, 1, size, to) == size;
    good = to && fclose(to) == 0 && good && renameat(render->folder.fd, part, render->folder.fd, name) == 0;
    if (!good) {
        int error = errno;
        if (fd >= 0)
            unlinkat(render->folder.fd, part, 0);
        cb_mcp_refuse(render->call, "see to the output folder, and try again", "%s/%s cannot be written: %s",
                      render->folder.path, name, strerror(error));
    }
    return good;
}

static json_t *path_json(const struct render *render, const char *ending) {
    char path[PATH_MAX + 300];
    snprintf(path, sizeof path, "%s/%s%s", render->folder.path, render->stem, ending);
    return cb_json_text(path);
}

/* To be freed; NULL: no memory. */
static char *svg_of(const struct cb_picture *picture, bool tips, size_t *size) {
    char *text = NULL;
    FILE *to = open_memstream(&text, size);
    if (!to)
        return NULL;
    cb_picture_write(picture, tips, to);
    return fclose(to) == 0 ? text : NULL;
}

/* "file:///...": what no URI may have as it is becomes %XX. */
static json_t *uri_json(const char *path) {
    char *uri = NULL;
    size_t size;
    FILE *to = open_memstream(&uri, &size);
    if (!to)
        return cb_json_text("file:///");
    fputs("file://", to);
    for (; *path; path++)
        if (strchr("/-_.~", *path) || (*path >= '0' && *path <= '9') || ((*path | 32) >= 'a' && (*path | 32) <= 'z'))
            putc(*path, to);
        else
            fprintf(to, "%%%02X", (unsigned)(unsigned char)*path);
    fclose(to);
    json_t *text = cb_json_text(uri);
    free(uri);
    return text;
}

static void add_svg_block(struct render *render, const char *svg, size_t size) {
    json_t *block = json_object(), *path = path_json(render, ".svg"), *uri = uri_json(json_string_value(path));
    bool fits = size <= MOST_SVG;
    json_t *at = fits ? json_object() : block;
    cb_json_set(block, "type", cb_json_text(fits ? "resource" : "resource_link"));
    cb_json_set(at, "uri", uri);
    cb_json_set(at, "mimeType", cb_json_text("image/svg+xml"));
    if (fits) {
        cb_json_set(at, "text", cb_json_text(svg));
        cb_json_set(block, "resource", at);
    } else {
        cb_json_set(at, "name", cb_json_text(render->picture->name));
    }
    cb_json_set(render->facts, "svg_included", json_boolean(fits));
    cb_mcp_add_block(render->call, block);
    json_decref(path);
}

/* To be freed; NULL: no memory. */
static char *base64_of(const char *bytes, size_t size) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((size + 2) / 3 * 4 + 1), *to = text;
    for (size_t i = 0; text && i < size; i += 3) {
        size_t left = size - i;
        uint32_t three = (uint32_t)(unsigned char)bytes[i] << 16;
        three |= left > 1 ? (uint32_t)(unsigned char)bytes[i + 1] << 8 : 0;
        three |= left > 2 ? (unsigned char)bytes[i + 2] : 0;
        *to++ = digit[three >> 18];
        *to++ = digit[three >> 12 & 63];
        *to++ = left > 1 ? digit[three >> 6 & 63] : '=';
        *to++ = left > 2 ? digit[three & 63] : '=';
    }
    if (text)
        *to = 0;
    return text;
}

static void add_image(struct render *render, const char *png, size_t size) {
    char *data = base64_of(png, size);
    json_t *block = json_object();
    cb_json_set(block, "type", cb_json_text("image"));
    cb_json_set(block, "data", cb_json_text(data ? data : ""));
    cb_json_set(block, "mimeType", cb_json_text("image/png"));
    if (data)
        cb_mcp_add_block(render->call, block);
    else
        json_decref(block);
    free(data);
}

/* False: the call has been refused. Without librsvg there is no PNG, and a note. */
static bool add_png(struct render *render, const char *svg, size_t length) {
    const json_t *wish = json_object_get(render->call->arguments, "png");
    char why[CB_PNG_WHY] = "it was not asked for", *png = NULL;
    size_t size = 0;
    bool drawn = !json_is_false(wish) && cb_png_of_svg(svg, length, 2, &png, &size, why);
    cb_json_set(render->facts, "note", drawn ? json_null() : cb_json_text(why));
    cb_json_set(render->facts, "png", drawn ? path_json(render, ".png") : json_null());
    cb_json_set(render->facts, "png_bytes", drawn ? cb_json_count(size) : json_null());
    bool good = !drawn || write_file(render, ".png", png, size);
    if (drawn && good)
        add_image(render, png, size);
    free(png);
    return good;
}

/* A title as plain text. */
static json_t *title_json(const char *title) {
    static const struct {
        const char *entity, *letter;
    } known[] = {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&nbsp;", " "}, {"&amp;", "&"}};
    char text[512], *to = text;
    while (*title && to < text + sizeof text - 8) {
        size_t k = 0;
        while (k < 5 && strncmp(title, known[k].entity, strlen(known[k].entity)) != 0)
            k++;
        *to++ = k < 5 ? *known[k].letter : *title;
        title += k < 5 ? strlen(known[k].entity) : 1;
    }
    *to = 0;
    return cb_json_text(text);
}

static void answer(struct render *render) {
    size_t size, plain_size;
    char *svg = svg_of(render->picture, true, &size), *plain = svg_of(render->picture, false, &plain_size);
    render->facts = json_object();
    name_files(render);
    cb_json_set(render->facts, "chart", cb_json_text(render->picture->name));
    cb_json_set(render->facts, "title", title_json(render->picture->title));
    cb_json_set(render->facts, "svg", path_json(render, ".svg"));
    cb_json_set(render->facts, "svg_bytes", cb_json_count(size));
    cb_json_set(render->facts, "next_offset", json_null());
    if (!svg || !plain)
        cb_mcp_refuse(render->call, "try again", "there is no memory for the picture");
    else if (write_file(render, ".svg", svg, size) && add_png(render, plain, plain_size)) {
        add_svg_block(render, plain, plain_size);
        cb_mcp_answer(render->call, json_incref(render->facts), "%s is in %s.",
                      json_string_value(json_object_get(render->facts, "title")),
                      json_string_value(json_object_get(render->facts, "svg")));
    }
    json_decref(render->facts);
    free(svg);
    free(plain);
}

static void list_charts(struct render *render) {
    json_t *facts = json_object(), *list = json_array();
    for (size_t i = 0; i < render->pictures.count; i++) {
        json_t *chart = json_object();
        cb_json_set(chart, "name", cb_json_text(render->pictures.at[i].name));
        cb_json_set(chart, "title", title_json(render->pictures.at[i].title));
        cb_json_append(list, chart);
    }
    cb_mcp_put_page(render->call, facts, "charts", list, 100, 15000);
    size_t count = json_array_size(list);
    cb_mcp_answer(render->call, facts, "%zu chart%s can be drawn.%s", count, count == 1 ? "" : "s",
                  render->runs > 1 ? " Each run alone has others." : "");
    json_decref(list);
}

static void unknown_chart(struct render *render, const char *name) {
    json_t *known = json_object();
    for (size_t i = 0; i < render->pictures.count; i++)
        cb_json_set(known, render->pictures.at[i].name, json_true());
    cb_study_unknown(render->call, "chart", name, "chart", known,
                     render->runs > 1 ? "give one of these; others are drawn of one run, by `run`"
                                      : "give one of these; a run without a simulation has few");
    json_decref(known);
}

static void draw(struct render *render) {
    const char *name = cb_mcp_text(render->call, "chart");
    char why[CB_PLACE_WHY];
    if (cb_pictures_make(&render->pictures, render->path, render->runs) != COBRE_OK)
        cb_mcp_failed(render->call);
    else if (!name)
        list_charts(render);
    else if (!(render->picture = cb_pictures_find(&render->pictures, name)))
        unknown_chart(render, name);
    else if (!cb_place_make(&render->call->server->places, "charts", false, &render->folder, why))
        cb_mcp_refuse(render->call, "start the server with an --output that can be written", "%s", why);
    else
        answer(render);
    cb_pictures_free(&render->pictures);
    cb_place_close(&render->folder);
}

/* The folders of run, or of runs. */
static bool find_runs(struct render *render, struct cb_place *place) {
    struct cb_mcp_call *call = render->call;
    const json_t *runs = json_object_get(call->arguments, "runs");
    const char *run = cb_mcp_text(call, "run");
    size_t count = json_array_size(runs);
    if ((run != NULL) == (count > 0)) {
        cb_mcp_refuse(call, "list_studies names the runs that are there", "give either run or runs");
        return false;
    }
    for (count = run ? 1 : count; render->runs < count; render->runs++) {
        const char *given = run ? run : json_string_value(json_array_get(runs, render->runs));
        if (!cb_mcp_place_at(call, run ? "run" : "runs", given, CB_PLACE_FOLDER, &place[render->runs]))
            return false;
        render->path[render->runs] = place[render->runs].path;
    }
    return true;
}

static void call(struct cb_mcp_call *call) {
    struct cb_place place[CB_REPORT_MOST];
    struct render render = {.call = call, .folder.fd = -1};
    if (find_runs(&render, place))
        draw(&render);
    while (render.runs-- > 0)
        cb_place_close(&place[render.runs]);
}

const struct cb_mcp_tool cb_mcp_render_chart = {
    .name = "render_chart",
    .title = "Render a chart",
    .description =
        "Draws a chart of a run's report. Of one run: convergence, cost_of_the_trajectories, stored_energy, "
        "marginal_cost, "
        "generation_mix, deficits, exchanges, spill, inflow, water_values, reservoirs, time_by_phase_and_rank. Of "
        "several runs in one "
        "picture: cost_of_the_trajectories, stored_energy, marginal_cost_SUBSYSTEM, probability_of_a_deficit, "
        "energy_not_served. Without chart it lists those that there are. A chart is saved as an SVG file, and as PNG "
        "where that is possible, in the folder charts of the output folder.",
    .input = input,
    .output = output,
    .writes = true,
    .repeatable = true,
    .call = call,
};
