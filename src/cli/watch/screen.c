/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c: the terminal, by ncurses. */
#define NCURSES_WIDECHAR 1
#include "cli/watch/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

static SCREEN *screen;
static FILE *keys; /* NULL: standard input */
static attr_t look[CB_STYLES];
static volatile sig_atomic_t asked;

static void note_signal(int signal) {
    asked = signal;
}

int cb_screen_signal(void) {
    return asked;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];

/* Who has opened the screen gets its own handlers back. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = note_signal};
    sigemptyset(&action.sa_mask);
    asked = 0;
    for (size_t i = 0; i < SIGNALS; i++) {
        action.sa_handler = signals[i] == SIGPIPE ? SIG_IGN : note_signal;
        sigaction(signals[i], &action, &before[i]);
    }
}

static void release_signals(void) {
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
}

static bool is_known(const char *command) {
    const char *name = getenv("TERM");
    int error = 0;
    if (name && *name && setupterm(NULL, STDOUT_FILENO, &error) == OK) {
        bool moves = cursor_address;
        del_curterm(cur_term);
        if (moves)
            return true;
    }
    if (name && *name)
        fprintf(stderr,
                "cobre %s: TERM=%s: this terminal cannot show a dashboard, or is not known here; try TERM=xterm\n",
                command, name);
    else
        fprintf(stderr, "cobre %s: TERM is not set, so that the terminal is not known; try TERM=xterm\n", command);
    return false;
}

/* Colours as a terminal has them: 256, 16 or 8, or none. */
static void choose_looks(void) {
    static const struct {
        short many, few;
        attr_t mono, always;
    } style[CB_STYLES] = {
        [CB_PLAIN] = {-1, -1, A_NORMAL, A_NORMAL},       [CB_FAINT] = {245, -1, A_NORMAL, A_NORMAL},
        [CB_STRONG] = {-1, -1, A_BOLD, A_BOLD},          [CB_CHOSEN] = {-1, -1, A_REVERSE, A_REVERSE},
        [CB_BOUND] = {75, COLOR_CYAN, A_BOLD, A_NORMAL}, [CB_MEAN] = {215, COLOR_YELLOW, A_NORMAL, A_NORMAL},
        [CB_BAND] = {137, COLOR_YELLOW, A_DIM, A_DIM},   [CB_GOOD] = {114, COLOR_GREEN, A_BOLD, A_BOLD},
        [CB_CARE] = {221, COLOR_YELLOW, A_BOLD, A_BOLD}, [CB_BAD] = {203, COLOR_RED, A_BOLD, A_BOLD},
        [CB_BAR] = {75, COLOR_CYAN, A_NORMAL, A_NORMAL}, [CB_BAR_REST] = {67, COLOR_CYAN, A_NORMAL, A_NORMAL},
    };
    const char *refused = getenv("NO_COLOR");
    bool colours = has_colors() && !(refused && *refused) && start_color() == OK && use_default_colors() == OK;
    for (int i = 0; i < CB_STYLES; i++) {
        short colour = COLORS >= 256 ? style[i].many : style[i].few;
        look[i] = colours ? style[i].always : style[i].mono;
        if (colours && colour >= 0 && init_pair((short)(i + 1), colour, -1) == OK)
            look[i] |= COLOR_PAIR(i + 1);
    }
}

/* Ctrl-C is a key like q: as a signal it would go to a training in the same job as well. */
static void set_modes(void) {
    struct termios mode;
    cbreak();
    noecho();
    nonl();
    int fd = cb_screen_fd();
    if (tcgetattr(fd, &mode) == 0) {
        mode.c_cc[VINTR] = mode.c_cc[VQUIT] = _POSIX_VDISABLE;
        tcsetattr(fd, TCSADRAIN, &mode);
        def_prog_mode();
    }
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
}

bool cb_screen_open(const char *command) {
    bool keys_apart = !isatty(STDIN_FILENO);
    setlocale(LC_CTYPE, "");
    if (!is_known(command))
        return false;
    keys = keys_apart ? fopen("/dev/tty", "r") : NULL;
    if (keys_apart && !keys) {
        fprintf(stderr, "cobre %s: /dev/tty: %s: there is no terminal for the keys\n", command, strerror(errno));
        return false;
    }
    screen = newterm(NULL, stdout, keys ? keys : stdin);
    if (!screen) {
        fprintf(stderr, "cobre %s: this terminal cannot be opened\n", command);
        return false;
    }
    set_term(screen);
    choose_looks();
    set_modes();
    catch_signals();
    return true;
}

void cb_screen_close(void) {
    endwin();
    delscreen(screen);
    if (keys)
        fclose(keys);
    screen = NULL;
    keys = NULL;
    release_signals();
}

bool cb_screen_is_utf8(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void cb_screen_size(int *width, int *height) {
    getmaxyx(stdscr, *height, *width);
}

int cb_screen_fd(void) {
    return keys ? fileno(keys) : STDIN_FILENO;
}

int cb_screen_key(void) {
    int key = getch();
    switch (key) {
    case ERR: return CB_KEY_NONE;
    case KEY_LEFT: return CB_KEY_LEFT;
    case KEY_RIGHT: return CB_KEY_RIGHT;
    case KEY_UP: return CB_KEY_UP;
    case KEY_DOWN: return CB_KEY_DOWN;
    case KEY_PPAGE: return CB_KEY_PAGE_UP;
    case KEY_NPAGE: return CB_KEY_PAGE_DOWN;
    case KEY_HOME: return CB_KEY_HOME;
    case KEY_END: return CB_KEY_END;
    case '\t': return CB_KEY_TAB;
    case KEY_BTAB: return CB_KEY_BACK_TAB;
    case KEY_BACKSPACE:
    case 8:
    case 127: return CB_KEY_BACKSPACE;
    case KEY_ENTER:
    case '\r':
    case '\n': return CB_KEY_ENTER;
    case KEY_RESIZE: return CB_KEY_RESIZE;
    default: return key < 256 ? key : 0;
    }
}

void cb_screen_show(const struct cb_canvas *canvas) {
    int width, height;
    cb_screen_size(&width, &height);
    for (int y = 0; y < canvas->height && y < height; y++)
        for (int x = 0; x < canvas->width && x < width; x++) {
            const struct cb_cell *cell = &canvas->cell[y * canvas->width + x];
            wchar_t text[2] = {(wchar_t)cell->letter, 0};
            cchar_t letter;
            setcchar(&letter, text, look[cell->style] & ~A_COLOR, (short)PAIR_NUMBER(look[cell->style]), NULL);
            mvadd_wch(y, x, &letter);
        }
    refresh();
}
