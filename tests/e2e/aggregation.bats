# SPDX-License-Identifier: Apache-2.0
# ClusterRoles that are the sum of others, as kubectl sees them. The names begin with "$NS" and the labels are its own, because a
# server may have more of them.

load controllers.bash

setup_file() { start_server; }

teardown_file() {
    leave >/dev/null 2>&1
    stop_server
}

setup() {
    L=$NS/t$BATS_TEST_NUMBER     # a label key that is only of this test
    N=$NS-$BATS_TEST_NUMBER      # so its names begin
}

# rule RESOURCE [VERBS]: as the API writes it.
rule() { printf '{"apiGroups":[""],"resources":["%s"],"verbs":["%s"]}' "$1" "${2:-get}" | sed 's/,\([a-z]*"\]}\)/","\1/'; }

# list RULE...: as the API writes them.
list() { local all; printf -v all ',%s' "$@"; printf '[%s]' "${all:1}"; }

# leaf NAME LABELS RULE...: LABELS as "key: value, …"
leaf() {
    printf 'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s, labels: {%s: mine, %s}}\nrules: %s\n' \
        "$N-$1" "$NS" "$2" "$(list "${@:3}")" | kubectl apply -f -
}

# sum NAME LABELS SELECTOR...: the selectors as JSON
sum() {
    printf 'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s, labels: {%s: mine, %s}}\naggregationRule: {clusterRoleSelectors: %s}\n' \
        "$N-$1" "$NS" "$2" "$(list "${@:3}")" | kubectl apply -f -
}

# by VALUE: a selector; with VALUE of the label of this test
by() { printf '{"matchLabels":{"%s":"%s"}}' "$L" "$1"; }

role() { look clusterrole "$1" -o 'jsonpath={.rules}'; }

# becomes NAME RULE...: its rules are exactly these, in this order.
becomes() { eventually shows "$(if [ $# -gt 1 ]; then list "${@:2}"; else echo null; fi)" role "$N-$1"; }

version_of() { look clusterrole "$N-$1" -o 'jsonpath={.metadata.resourceVersion}'; }

patch() { kubectl patch clusterrole "$N-$1" --type=merge -p "$2"; }

# all_seen: the controller has looked at everything that was written, because it did two things that were asked later.
all_seen() {
    leaf seen "$L: seen" "$(rule seen)"
    sum all-seen 'a: b' "$(by seen)"
    becomes all-seen "$(rule seen)"
    kubectl delete clusterrole "$N-seen"
    becomes all-seen
}

@test "the roles for users are filled" {
    has() { role "$1" | grep -qF "$2"; }
    eventually has view '{"apiGroups":["networking.k8s.io"],"resources":["ingresses","ingresses/status","networkpolicies"],"verbs":["get","list","watch"]}'
    eventually has edit '{"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["impersonate"]}'
    eventually has admin '{"apiGroups":["rbac.authorization.k8s.io"],"resources":["rolebindings","roles"],"verbs":["create","delete","deletecollection","get","list","patch","update","watch"]}'
    run -0 kubectl create rolebinding "$N" -n "$NS" --clusterrole=view --user="$N"
    eventually kubectl auth can-i list pods -n "$NS" --as="$N"
    run -1 kubectl auth can-i create pods -n "$NS" --as="$N"
}

@test "a leaf for view is in view, edit and admin, and out of them when it goes" {
    has() { role "$1" | grep -qF "\"$N-things\""; }
    lacks_it() { ! has "$1" && look clusterrole "$1" -o name; }
    leaf view 'rbac.authorization.k8s.io/aggregate-to-view: "true"' "$(rule "$N-things")"
    for name in view edit admin; do eventually has $name; done
    kubectl create rolebinding "$N" -n "$NS" --clusterrole=admin --user="$N"
    eventually kubectl auth can-i get "$N-things" -n "$NS" --as="$N"
    kubectl delete clusterrole "$N-view"
    for name in view edit admin; do eventually lacks_it $name; done
    leaf edit 'rbac.authorization.k8s.io/aggregate-to-edit: "true"' "$(rule "$N-things")"
    for name in edit admin; do eventually has $name; done
    lacks_it view
    kubectl delete clusterrole "$N-edit"
    for name in edit admin; do eventually lacks_it $name; done
}

@test "leaves come, change and go" {
    sum all 'a: b' "$(by x)"
    leaf one "$L: x" "$(rule pods)"
    becomes all "$(rule pods)"
    leaf two "$L: x" "$(rule secrets)" "$(rule nodes)"
    becomes all "$(rule pods)" "$(rule secrets)" "$(rule nodes)"
    leaf one "$L: x" "$(rule pods get,list)"
    becomes all "$(rule pods get,list)" "$(rule secrets)" "$(rule nodes)"
    kubectl delete clusterrole "$N-two"
    becomes all "$(rule pods get,list)"
    kubectl delete clusterrole "$N-one"
    becomes all
}

@test "leaves that are there before the sum" {
    leaf b "$L: x" "$(rule secrets)"
    leaf a "$L: x" "$(rule pods)"
    sum all 'a: b' "$(by x)"
    becomes all "$(rule pods)" "$(rule secrets)"
}

@test "a label is put on, changed, taken off" {
    sum x 'a: b' "$(by x)"
    sum y 'a: b' "$(by y)"
    leaf one 'some: label' "$(rule pods)"
    kubectl label clusterrole "$N-one" "$L=x"
    becomes x "$(rule pods)"
    kubectl label clusterrole "$N-one" "$L=y" --overwrite
    becomes y "$(rule pods)"
    becomes x
    kubectl label clusterrole "$N-one" "$L-"
    becomes y
}

@test "every part of a rule is carried over" {
    sum all 'a: b' "$(by x)"
    leaf one "$L: x" '{"nonResourceURLs":["/healthz","/x/*"],"verbs":["get"]}' \
        '{"apiGroups":["","apps"],"resourceNames":["one","two"],"resources":["pods/log","deployments"],"verbs":["get","*"]}'
    becomes all '{"nonResourceURLs":["/healthz","/x/*"],"verbs":["get"]}' \
        '{"apiGroups":["","apps"],"resourceNames":["one","two"],"resources":["pods/log","deployments"],"verbs":["get","*"]}'
}

@test "order: selectors as written, in each the roles by name, in each the rules as written" {
    leaf b "$L: one" "$(rule b2)" "$(rule b1)"
    leaf a "$L: one" "$(rule a)"
    leaf 0 "$L: two" "$(rule z)"
    leaf a.b "$L: one" "$(rule dot)"
    leaf a-b "$L: one" "$(rule dash)"
    sum up 'a: b' "$(by one)" "$(by two)"
    becomes up "$(rule a)" "$(rule dash)" "$(rule dot)" "$(rule b2)" "$(rule b1)" "$(rule z)"
    sum down 'a: b' "$(by two)" "$(by one)"
    becomes down "$(rule z)" "$(rule a)" "$(rule dash)" "$(rule dot)" "$(rule b2)" "$(rule b1)"
}

@test "equal rules are taken once, the first; alike is not equal" {
    leaf a "$L: x" "$(rule pods get,list)" "$(rule nodes)" "$(rule pods get,list)"
    leaf b "$L: x, $L-b: w" "$(rule nodes)" "$(rule pods list,get)" "$(rule secrets)"
    sum all 'a: b' "$(by x)" "{\"matchLabels\":{\"$L-b\":\"w\"}}" "$(by x)"
    becomes all "$(rule pods get,list)" "$(rule nodes)" "$(rule pods list,get)" "$(rule secrets)"
}

@test "selectors by expression" {
    leaf a "$L: one" "$(rule a)"
    leaf b "$L: two" "$(rule b)"
    leaf c "$L-other: x" "$(rule c)"
    expression() { printf '{"matchExpressions":[{"key":"%s","operator":"Exists"},{"key":"%s","operator":%s}]}' "$NS" "$L" "$1"; }
    sum in 'a: b' "$(expression '"In","values":["one","three"]')"
    becomes in "$(rule a)"
    sum exists 'a: b' "{\"matchExpressions\":[{\"key\":\"$L\",\"operator\":\"Exists\"}]}"
    becomes exists "$(rule a)" "$(rule b)"
    sum not-in 'a: b' "{\"matchLabels\":{\"$L-other\":\"x\"},\"matchExpressions\":[{\"key\":\"$L\",\"operator\":\"NotIn\",\"values\":[\"one\"]}]}"
    becomes not-in "$(rule c)"
    sum absent 'a: b' "{\"matchExpressions\":[{\"key\":\"$L\",\"operator\":\"DoesNotExist\"},{\"key\":\"$L-other\",\"operator\":\"In\",\"values\":[\"x\"]}]}"
    becomes absent "$(rule c)"
}

@test "the selector of all" {
    leaf a 'some: label' "$(rule "$N-a")"
    sum everything 'a: b' '{}'
    has() { role "$N-everything" | grep -qF "$1"; }
    eventually has "\"$N-a\""
    has '{"nonResourceURLs":["*"],"verbs":["*"]}'
    kubectl delete clusterrole "$N-everything"
}

@test "selectors change" {
    leaf a "$L: one" "$(rule a)"
    leaf b "$L: two" "$(rule b)"
    sum all 'a: b' "$(by one)"
    becomes all "$(rule a)"
    patch all "{\"aggregationRule\":{\"clusterRoleSelectors\":[$(by one),$(by two)]}}"
    becomes all "$(rule a)" "$(rule b)"
    patch all "{\"aggregationRule\":{\"clusterRoleSelectors\":[$(by two),$(by one)]}}"
    becomes all "$(rule b)" "$(rule a)"
    patch all "{\"aggregationRule\":{\"clusterRoleSelectors\":[$(by two)]}}"
    becomes all "$(rule b)"
    patch all "{\"aggregationRule\":{\"clusterRoleSelectors\":[$(by none)]}}"
    becomes all
}

@test "a role becomes a sum, and a leaf again" {
    leaf a "$L: one" "$(rule a)"
    leaf all 'a: b' "$(rule own)"
    patch all "{\"aggregationRule\":{\"clusterRoleSelectors\":[$(by one)]}}"
    becomes all "$(rule a)"
    patch all '{"aggregationRule":null}'
    leaf a "$L: one" "$(rule changed)"
    all_seen
    run -0 role "$N-all"
    says "$(list "$(rule a)")"
    patch all "{\"rules\":$(list "$(rule by-hand)")}"
    all_seen
    run -0 role "$N-all"
    says "$(list "$(rule by-hand)")"
}

@test "rules written by hand are put back" {
    leaf a "$L: x" "$(rule a)" "$(rule b)"
    sum all 'a: b' "$(by x)"
    becomes all "$(rule a)" "$(rule b)"
    patch all "{\"rules\":$(list "$(rule mine '*')")}"
    becomes all "$(rule a)" "$(rule b)"
    patch all '{"rules":[]}'
    becomes all "$(rule a)" "$(rule b)"
    patch all '{"rules":null}'
    becomes all "$(rule a)" "$(rule b)"
    patch all "{\"rules\":$(list "$(rule b)" "$(rule a)")}"
    becomes all "$(rule a)" "$(rule b)"
    patch all "{\"rules\":$(list "$(rule a)" "$(rule b)" "$(rule c)")}"
    becomes all "$(rule a)" "$(rule b)"
}

@test "what else is in the sum is the business of its users" {
    leaf a "$L: x" "$(rule a)"
    sum all 'a: b' "$(by x)"
    becomes all "$(rule a)"
    kubectl label clusterrole "$N-all" its=label
    kubectl annotate clusterrole "$N-all" its=note
    leaf a "$L: x" "$(rule b)"
    becomes all "$(rule b)"
    run -0 look clusterrole "$N-all" -o 'jsonpath={.metadata.labels.its} {.metadata.annotations.its} {.aggregationRule}'
    says "label note {\"clusterRoleSelectors\":[$(by x)]}"
}

@test "nothing is written where nothing changes" {
    leaf a "$L: x" "$(rule a)"
    leaf b "$L: x" "$(rule b)"
    sum all 'a: b' "$(by x)"
    sum other 'a: b' "$(by y)"
    becomes all "$(rule a)" "$(rule b)"
    before=$(version_of all) before_other=$(version_of other)
    kubectl annotate clusterrole "$N-a" note=1
    kubectl label clusterrole "$N-b" "unrelated=1"
    leaf c "$L: x" "$(rule b)" "$(rule a)" # adds nothing
    leaf d "$L-d: x" "$(rule d)"           # is not selected
    kubectl delete clusterrole "$N-c" "$N-d"
    all_seen
    run -0 version_of all
    says "$before"
    run -0 version_of other
    says "$before_other"
}

@test "a chain of four" {
    leaf leaf "$L: l0" "$(rule a)"
    for n in 1 2 3 4; do sum "s$n" "$L: l$n" "$(by "l$((n - 1))")"; done
    becomes s4 "$(rule a)"
    leaf leaf "$L: l0" "$(rule b)"
    becomes s4 "$(rule b)"
    becomes s1 "$(rule b)"
    kubectl delete clusterrole "$N-leaf"
    becomes s4
    becomes s2
}

@test "one leaf in many sums" {
    for n in 1 2 3 4 5 6 7 8; do sum "s$n" 'a: b' "$(by x)"; done
    leaf a "$L: x" "$(rule a)"
    for n in 1 2 3 4 5 6 7 8; do becomes "s$n" "$(rule a)"; done
    kubectl delete clusterrole "$N-a"
    for n in 1 2 3 4 5 6 7 8; do becomes "s$n"; done
}

@test "many leaves in one sum" {
    for n in $(seq 100 199); do
        printf 'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s, labels: {%s: mine, %s: x}}\nrules: [%s]\n---\n' \
            "$N-$n" "$NS" "$L" "$(rule "r$n")"
    done | kubectl create -f - >"$SCRATCH/created"
    sum all 'a: b' "$(by x)"
    rules=()
    for n in $(seq 100 199); do rules+=("$(rule "r$n")"); done
    becomes all "${rules[@]}"
    kubectl delete clusterrole -l "$L=x" >"$SCRATCH/deleted"
    becomes all
}

@test "a sum that selects itself is not in itself" {
    leaf a "$L: x" "$(rule a)"
    sum all "$L: x" "$(by x)"
    becomes all "$(rule a)"
    leaf a "$L: x" "$(rule b)"
    becomes all "$(rule b)"
    all_seen
    run -0 role "$N-all"
    says "$(list "$(rule b)")"
}

@test "two sums that select each other settle" {
    leaf a "$L: x" "$(rule a)"
    leaf b "$L: z" "$(rule b)"
    sum one "$L: z" "$(by x)"
    sum two "$L: x" "$(by z)"
    # Names: a, two are x; b, one are z.
    becomes one "$(rule a)" "$(rule b)"
    becomes two "$(rule b)" "$(rule a)"
    before=$(version_of one)/$(version_of two)
    all_seen
    [ "$(version_of one)/$(version_of two)" = "$before" ]
}

@test "a sum that is deleted leaves its leaves alone, and can come again" {
    leaf a "$L: x" "$(rule a)"
    sum all 'a: b' "$(by x)"
    becomes all "$(rule a)"
    kubectl delete clusterrole "$N-all"
    leaf a "$L: x" "$(rule b)"
    all_seen
    run -1 kubectl get clusterrole "$N-all"
    mentions NotFound
    sum all 'a: b' "$(by x)"
    becomes all "$(rule b)"
}

@test "the rules are the field of the controller" {
    leaf a "$L: x" "$(rule a)"
    sum all 'a: b' "$(by x)"
    becomes all "$(rule a)"
    leaf a "$L: x" "$(rule b)" # a server may fill a new sum itself; what changes later is the controller's
    becomes all "$(rule b)"
    run -0 kubectl get clusterrole "$N-all" --show-managed-fields -o 'jsonpath={range .metadata.managedFields[?(@.operation=="Apply")]}{.manager} {.apiVersion} {.fieldsV1}{"\n"}{end}'
    says 'clusterrole-aggregation-controller rbac.authorization.k8s.io/v1 {"f:rules":{}}'
}

@test "rights follow: who is bound to the sum may do what the leaf says, as long as it says so" {
    sum all 'a: b' "$(by x)"
    kubectl create clusterrolebinding "$N" --clusterrole="$N-all" --user="$N"
    kubectl label clusterrolebinding "$N" "$NS=mine"
    may() { kubectl auth can-i get pods --as="$N"; }
    may_not() { run kubectl auth can-i get pods --as="$N" && [ "$output" = no ]; }
    may_not
    leaf a "$L: x" "$(rule pods)"
    eventually may
    kubectl label clusterrole "$N-a" "$L-"
    eventually may_not
}
