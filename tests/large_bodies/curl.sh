# Sends bodies of some lengths, and prints what each is answered: curl.sh OPTION URL AUTHORITY LENGTH...
option=$1 url=$2 authority=$3
shift 3
case "$option:$url" in --http2-prior-knowledge:https*) option=--http2 ;; esac
for length; do
    # Without Expect, by which it would wait for the answer.
    head -c "$length" /dev/zero | curl -sS "$option" --cacert "$authority" -H "Content-Length: $length" -H Expect: -X POST -T - \
        -H Transfer-Encoding: -o /dev/null -w '%{http_code}\n' "$url" 2>/dev/null
done
true
