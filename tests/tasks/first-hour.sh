#!/usr/bin/env bash
# The tasks of a new user, with what each takes: from a template to a verdict, from a mistake of one's own to its picture, from an
# edited line to a verdict, from a saved trace through a rename and a mend.
#
#   tests/tasks/first-hour.sh [LANGUAGE...]   as for `host new`; all of them without one
#
# HOST names the binary, `host` otherwise; two binaries of different versions can be compared that way. Compilers of the languages
# have to be there, or are installed by the first build of each, which is not counted. Prints a table in Markdown, and ends with 1 at
# the first task that comes out as it should not.
set -euo pipefail

HOST=$(realpath "$(command -v "${HOST:-host}")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
[ $# -gt 0 ] || set -- rust c cpp zig go assemblyscript typescript python text

# Runs a command that should end with a code, and prints a row with its time.
task() {
    local what=$1 code=$2 got=0
    shift 2
    local TIMEFORMAT='%R %U %S'
    { time "$@" >output 2>&1 || got=$?; } 2>times
    [ "$got" = "$code" ] || {
        echo "$what: ended with $got in place of $code: $*" >&2
        tail -n 20 output >&2
        exit 1
    }
    awk -v what="$what" '{ printf "| %s | %.1f | %.1f |\n", what, $1, $2 + $3 }' times
}

# The file with the line that asks for a majority, and that line.
of_language() {
    case $1 in
    rust) file=src/lib.rs line='if self.bug == Bug::OneAck { 1 } else { ctx.majority() }' ;;
    python) file='*.py' line='return 1 if self.settings.bug == "one-ack" else self.nodes // 2 + 1' ;;
    typescript) file='src/*.ts' line='return this.settings.bug === "one-ack" ? 1 : Math.floor(this.nodes / 2) + 1;' ;;
    go) file='*.go' line='if r.settings.bug == "one-ack" {' ;;
    c) file='*.c' line='return config.bug == ONE_ACK ? 1 : config.nodes / 2 + 1;' ;;
    cpp) file='*.cpp' line='return bug_ == Bug::one_ack ? 1 : nodes_ / 2 + 1;' ;;
    zig) file='src/*.zig' line='return if (register.bug == .@"one-ack") 1 else register.nodes / 2 + 1;' ;;
    assemblyscript) file='assembly/*.ts' line='return bug == "one-ack" ? 1 : nodes / 2 + 1;' ;;
    text) file='*.wat' line='(func $enough (result i32) (i32.ge_u (i32.popcnt (global.get $acks)) (global.get $quorum)))' ;;
    *)
        echo "no tasks for $1" >&2
        exit 2
        ;;
    esac
    # The name of the file follows that of the project.
    file=$(cd "$folder" && grep -lF "$line" $file | head -n 1)
}

# Replaces the line of the majority.
edit() {
    python3 - "$folder/$file" "$line" "$1" <<'EOF'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
assert text.count(old) == 1, (path, old)
open(path, "w").write(text.replace(old, new))
EOF
}

# The same line with a mistake, and with nothing but another look.
wrong() {
    case $1 in
    rust) echo '{ let _ = &ctx; 1 }' ;;
    python) echo 'return 1' ;;
    typescript) echo 'return 1;' ;;
    go) echo 'if true {' ;;
    c | cpp | assemblyscript) echo 'return 1;' ;;
    zig) echo '_ = register; return 1;' ;;
    text) echo '(func $enough (result i32) (i32.ge_u (i32.popcnt (global.get $acks)) (i32.const 1)))' ;;
    esac
}
alike() {
    case $1 in
    rust) echo 'if Bug::OneAck == self.bug { 1 } else { ctx.majority() }' ;;
    python) echo 'return self.nodes // 2 + 1 if self.settings.bug != "one-ack" else 1' ;;
    typescript) echo 'return this.settings.bug !== "one-ack" ? Math.floor(this.nodes / 2) + 1 : 1;' ;;
    go) echo 'if "one-ack" == r.settings.bug {' ;;
    c) echo 'return config.bug != ONE_ACK ? config.nodes / 2 + 1 : 1;' ;;
    cpp) echo 'return bug_ != Bug::one_ack ? nodes_ / 2 + 1 : 1;' ;;
    zig) echo 'return if (register.bug != .@"one-ack") register.nodes / 2 + 1 else 1;' ;;
    assemblyscript) echo 'return bug != "one-ack" ? nodes / 2 + 1 : 1;' ;;
    text) echo '(func $enough (result i32) (i32.le_u (global.get $quorum) (i32.popcnt (global.get $acks))))' ;;
    esac
}

echo '| task | seconds | CPU seconds |'
echo '|---|---|---|'
for language in "$@"; do
    # Installs what is missing, and fills the caches as earlier work would have.
    "$HOST" new "$language" warm >/dev/null
    "$HOST" build warm >/dev/null 2>&1
    rm -rf warm
    # Not the language alone: Go has a package of that name.
    folder=mine-$language
    task "$language: a new folder" 0 "$HOST" new "$language" "$folder"
    of_language "$language"
    task "$language: from the template to a verdict" 0 "$HOST" run "$folder"
    edit "$(alike "$language")"
    task "$language: from an edited line to a verdict" 0 "$HOST" run "$folder"
    line=$(alike "$language") edit "$(wrong "$language")"
    task "$language: from a mistake to its picture" 12 "$HOST" run "$folder" --out found
    ls found/trace.html found/trace.svg >/dev/null
    cp found/trace.json "$folder/scenarios/stored.json"
    task "$language: the saved trace is a test" 0 "$HOST" test "$folder/scenarios/stored.json" --plugin "$folder"
    # A field of the state has another name from here on, in the code and in the encoding, so that every digest changes.
    grep -qw acks "$folder/$file"
    rename='s/\backs\b/ayes/g; s/\bAcks\b/Ayes/g; s/\backs_/ayes_/g'
    sed -i "$rename" "$folder/$file"
    task "$language: the saved trace after a rename" 0 "$HOST" test "$folder/scenarios/stored.json" --plugin "$folder"
    line=$(wrong "$language" | sed "$rename") edit "$(alike "$language" | sed "$rename")"
    printf 'trace = "stored.json"\nexpect = "gone"\n' >"$folder/scenarios/stays-mended.toml"
    task "$language: mended, the test says that it is gone" 0 "$HOST" test "$folder/scenarios/stays-mended.toml"
    rm -rf found
done
