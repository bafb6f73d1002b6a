#!/bin/sh
# Find a Python and check for Java; print the Python, or one line that says what is missing and what to do.
# PYTHON and JAVA_HOME are taken when they are set. Nothing is installed or changed.
set -eu

PYTHON_MINOR=11 # the data source API of PySpark needs 3.11
JAVA_MAJOR=17   # Spark 4 needs 17

fail() {
    echo "error: $1" >&2
    exit 1
}

# A version manager leaves commands on the path that do not run, so a candidate counts only if it answers.
fits() {
    "$1" -c "import sys; sys.exit(not (3, $PYTHON_MINOR) <= sys.version_info[:2] < (4,))" 2>/dev/null
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        fits "$PYTHON" || fail "PYTHON=$PYTHON is not Python 3.$PYTHON_MINOR or newer: give another one, or unset PYTHON."
        echo "$PYTHON"
        return
    fi
    # 3.11 comes first because the official Pravega client, our peer in the tests, has no wheels for newer ones.
    for candidate in python3.11 python3 python3.12 python3.13 python3.14 python; do
        if fits "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "no Python 3.$PYTHON_MINOR or newer on the PATH: install one, or name one with 'make setup PYTHON=/path/to/python3'."
}

check_java() {
    if [ -n "${JAVA_HOME:-}" ]; then
        java="$JAVA_HOME/bin/java"
        where="JAVA_HOME ($JAVA_HOME)"
    else
        java=java
        where="the PATH"
    fi
    advice="install a JDK or JRE $JAVA_MAJOR or newer, and set JAVA_HOME if it is not on the PATH."
    version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9][^"]*\)".*/\1/p' | head -n 1) || version=""
    [ -n "$version" ] || fail "no Java in $where, which Pravega and Spark need: $advice"
    [ "${version%%[!0-9]*}" -ge "$JAVA_MAJOR" ] || fail "the Java in $where is too old ($version): $advice"
}

python=$(find_python)
check_java
echo "$python"
