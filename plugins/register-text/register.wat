;; A register kept by a majority of the nodes: one node writes, another reads.
;; Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995.
;;
;; No compiler, no library: the functions of wit/protocol.wit under their plain names, which `host build` turns into a component.
;; States and messages are canonical JSON (docs/encoding.md). Single values are in globals, the versions that were read are in memory.
;;
;; Memory: 256 to 511 the versions that were read; 1024 to 2047 words; from 2048 arguments and results, until the host has read them.
(module
  ;; A line for people, here right before a trap.
  (import "host:protocol/environment@0.1.0" "log" (func $log (param $at i32) (param $length i32)))

  (memory (export "memory") 1)

  ;; The configuration: never changes after `init`.
  (global $nodes (mut i32) (i32.const 0))
  (global $quorum (mut i32) (i32.const 0))
  (global $writes (mut i32) (i32.const 1))
  (global $reads (mut i32) (i32.const 2))
  (global $no_write_back (mut i32) (i32.const 0))
  (global $one_ack (mut i32) (i32.const 0))

  ;; What the node knows: all that `serialize` writes.
  (global $role (mut i32) (i32.const 0))            ;; 0 writer, 1 reader, 2 replica
  (global $acks (mut i32) (i32.const 0))            ;; bit n: node n has answered in this phase
  (global $best_value (mut i32) (i32.const 0))
  (global $best_version (mut i32) (i32.const 0))
  (global $copy_value (mut i32) (i32.const 0))
  (global $copy_version (mut i32) (i32.const 0))
  (global $op (mut i32) (i32.const 0))              ;; how many operations this node has begun
  (global $phase (mut i32) (i32.const 0))           ;; 0 idle, 1 query, 2 store
  (global $returned (mut i32) (i32.const 0))        ;; how many versions there are from 256 on

  ;; ---- room for arguments and results

  (global $heap (mut i32) (i32.const 2048))
  (global $at (mut i32) (i32.const 2048))           ;; where the text that is being written goes on

  (func $room (param $size i32) (result i32)
    (local $place i32)
    (local.set $place (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $place) (local.get $size)))
    (if (i32.gt_u (global.get $heap) (i32.shl (memory.size) (i32.const 16))) (then
      (if (i32.eq (memory.grow (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1))) (i32.const -1))
        (then (unreachable)))))
    (local.get $place))

  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $place i32)
    (local.set $place (call $room (local.get $size)))
    (memory.copy (local.get $place) (local.get $old) (local.get $old_size))
    (local.get $place))

  ;; The host has read the result.
  (func $release (param i32) (global.set $heap (i32.const 2048)))
  (export "cabi_post_init" (func $release))
  (export "cabi_post_handle_message" (func $release))
  (export "cabi_post_local_events" (func $release))
  (export "cabi_post_handle_local" (func $release))
  (export "cabi_post_serialize" (func $release))
  (export "cabi_post_properties" (func $release))
  (export "cabi_post_view" (func $release))
  (export "cabi_post_invariant" (func $release))
  (export "cabi_post_about" (func $release))

  ;; ---- writing: $begin, then what the text is made of, then the length from $end

  (func $begin (result i32)
    ;; Texts are short: 1024 bytes are more than the longest one needs.
    (global.set $at (call $room (i32.const 1024)))
    (global.get $at))

  (func $end (param $begin i32) (result i32) (i32.sub (global.get $at) (local.get $begin)))

  (func $byte (param $byte i32)
    (i32.store8 (global.get $at) (local.get $byte))
    (global.set $at (i32.add (global.get $at) (i32.const 1))))

  (func $put (param $from i32) (param $length i32)
    (memory.copy (global.get $at) (local.get $from) (local.get $length))
    (global.set $at (i32.add (global.get $at) (local.get $length))))

  (func $number (param $n i32)
    (if (i32.gt_u (local.get $n) (i32.const 9)) (then (call $number (i32.div_u (local.get $n) (i32.const 10)))))
    (call $byte (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10)))))

  ;; {"value":101,"version":1}
  (func $copy (param $value i32) (param $version i32)
    (call $put (i32.const 1024) (i32.const 9) (; {"value": ;))
    (call $number (local.get $value))
    (call $put (i32.const 1033) (i32.const 11) (; ,"version": ;))
    (call $number (local.get $version))
    (call $byte (i32.const 125)))

  ;; [0,1]
  (func $put_returned
    (local $i i32)
    (call $byte (i32.const 91))
    (loop $next
      (if (i32.lt_u (local.get $i) (global.get $returned)) (then
        (if (local.get $i) (then (call $byte (i32.const 44))))
        (call $number (i32.load offset=256 (i32.shl (local.get $i) (i32.const 2))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))))
    (call $byte (i32.const 93)))

  ;; An address and a length in memory: a list, or a result without a tag.
  (func $pair (param $at i32) (param $length i32) (result i32)
    (local $pair i32)
    (local.set $pair (call $room (i32.const 8)))
    (i32.store (local.get $pair) (local.get $at))
    (i32.store offset=4 (local.get $pair) (local.get $length))
    (local.get $pair))

  ;; The same after a tag: 1 for a value that is there, or for an error.
  (func $tagged (param $tag i32) (param $at i32) (param $length i32) (result i32)
    (local $result i32)
    (local.set $result (call $room (i32.const 12)))
    (i32.store (local.get $result) (local.get $tag))
    (i32.store offset=4 (local.get $result) (local.get $at))
    (i32.store offset=8 (local.get $result) (local.get $length))
    (local.get $result))

  ;; ---- reading

  (func $same (param $one i32) (param $length i32) (param $other i32) (param $other_length i32) (result i32)
    (local $i i32)
    (if (i32.ne (local.get $length) (local.get $other_length)) (then (return (i32.const 0))))
    (loop $next
      (if (i32.eq (local.get $i) (local.get $length)) (then (return (i32.const 1))))
      (if (i32.ne
            (i32.load8_u (i32.add (local.get $one) (local.get $i)))
            (i32.load8_u (i32.add (local.get $other) (local.get $i))))
        (then (return (i32.const 0))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next))
    (unreachable))

  ;; The address behind a key such as `"op":` in a text; 0 if it is not there.
  (func $find (param $text i32) (param $length i32) (param $key i32) (param $key_length i32) (result i32)
    (local $last i32)
    (local.set $last (i32.sub (i32.add (local.get $text) (local.get $length)) (local.get $key_length)))
    (loop $next
      (if (i32.gt_s (local.get $text) (local.get $last)) (then (return (i32.const 0))))
      (if (call $same (local.get $text) (local.get $key_length) (local.get $key) (local.get $key_length))
        (then (return (i32.add (local.get $text) (local.get $key_length)))))
      (local.set $text (i32.add (local.get $text) (i32.const 1)))
      (br $next))
    (unreachable))

  ;; The number at an address: digits up to anything else, which always follows in JSON.
  (func $read (param $at i32) (result i32)
    (local $n i32) (local $digit i32)
    (loop $next
      (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))
      (if (i32.lt_u (local.get $digit) (i32.const 10)) (then
        (local.set $n (i32.add (i32.mul (local.get $n) (i32.const 10)) (local.get $digit)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next))))
    (local.get $n))

  ;; The number of a field.
  (func $field (param $text i32) (param $length i32) (param $key i32) (param $key_length i32) (result i32)
    (local $at i32)
    (local.set $at (call $find (local.get $text) (local.get $length) (local.get $key) (local.get $key_length)))
    (if (i32.eqz (local.get $at)) (then
      (call $log (i32.const 1044) (i32.const 30) (; panic: a message lacks a field ;))
      (unreachable)))
    (call $read (local.get $at)))

  ;; ---- messages

  ;; One text for `count` nodes from `first` on.
  (func $envelopes (param $first i32) (param $count i32) (param $text i32) (param $length i32) (result i32)
    (local $list i32) (local $i i32) (local $envelope i32)
    (local.set $list (call $room (i32.mul (local.get $count) (i32.const 12))))
    (loop $next
      (local.set $envelope (i32.add (local.get $list) (i32.mul (local.get $i) (i32.const 12))))
      (i32.store (local.get $envelope) (i32.add (local.get $first) (local.get $i)))
      (i32.store offset=4 (local.get $envelope) (local.get $text))
      (i32.store offset=8 (local.get $envelope) (local.get $length))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))
    (call $pair (local.get $list) (local.get $count)))

  (func $nothing (result i32) (call $pair (i32.const 2048) (i32.const 0)))

  ;; {"kind":"query","op":1, without the bracket that closes it
  (func $message (param $kind i32) (param $kind_length i32) (param $op i32)
    (call $put (i32.const 1074) (i32.const 8) (; {"kind": ;))
    (call $put (local.get $kind) (local.get $kind_length))
    (call $put (i32.const 1082) (i32.const 6) (; ,"op": ;))
    (call $number (local.get $op)))

  ;; ,"value":101,"version":1}
  (func $message_copy (param $value i32) (param $version i32)
    (call $put (i32.const 1088) (i32.const 9) (; ,"value": ;))
    (call $number (local.get $value))
    (call $put (i32.const 1033) (i32.const 11) (; ,"version": ;))
    (call $number (local.get $version))
    (call $byte (i32.const 125)))

  ;; ---- the protocol

  (func $acknowledge (param $from i32)
    (global.set $acks (i32.or (global.get $acks) (i32.shl (i32.const 1) (local.get $from)))))

  (func $enough (result i32) (i32.ge_u (i32.popcnt (global.get $acks)) (global.get $quorum)))

  ;; Gives the best copy to everyone.
  (func $store (result i32)
    (local $text i32)
    (global.set $acks (i32.const 0))
    (global.set $phase (i32.const 2))
    (local.set $text (call $begin))
    (call $message (i32.const 1097) (i32.const 7) (; "store" ;) (global.get $op))
    (call $message_copy (global.get $best_value) (global.get $best_version))
    (call $envelopes (i32.const 0) (global.get $nodes) (local.get $text) (call $end (local.get $text))))

  ;; Ends the operation.
  (func $finish
    (if (i32.eq (global.get $role) (i32.const 1)) (then
      (if (i32.eq (global.get $returned) (i32.const 64)) (then (unreachable)))
      (i32.store offset=256 (i32.shl (global.get $returned) (i32.const 2)) (global.get $best_version))
      (global.set $returned (i32.add (global.get $returned) (i32.const 1)))))
    (global.set $acks (i32.const 0))
    (global.set $best_value (i32.const 0))
    (global.set $best_version (i32.const 0))
    (global.set $phase (i32.const 0)))

  ;; The number of a parameter: one or two digits up to the end of the line, at most 64; or -1.
  (func $small (param $at i32) (param $length i32) (result i32)
    (local $n i32)
    (if (i32.gt_u (i32.sub (local.get $length) (i32.const 1)) (i32.const 1)) (then (return (i32.const -1))))
    (loop $next
      (if (i32.gt_u (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)) (i32.const 9)) (then (return (i32.const -1))))
      (local.set $n (i32.add (i32.mul (local.get $n) (i32.const 10)) (i32.sub (i32.load8_u (local.get $at)) (i32.const 48))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (local.tee $length (i32.sub (local.get $length) (i32.const 1)))))
    (select (local.get $n) (i32.const -1) (i32.le_u (local.get $n) (i32.const 64))))

  ;; Whether one line of the configuration, key=value, can be used.
  (func $configure (param $line i32) (param $length i32) (result i32)
    (local $sign i32) (local $value i32) (local $rest i32) (local $n i32)
    (local.set $value (call $find (local.get $line) (local.get $length) (i32.const 1104) (i32.const 1) (; = ;)))
    (if (i32.eqz (local.get $value)) (then (return (i32.const 0))))
    (local.set $sign (i32.sub (i32.sub (local.get $value) (local.get $line)) (i32.const 1)))
    (local.set $rest (i32.sub (i32.sub (local.get $length) (local.get $sign)) (i32.const 1)))
    (if (call $same (local.get $line) (local.get $sign) (i32.const 1105) (i32.const 3) (; bug ;)) (then
      (global.set $no_write_back (call $same (local.get $value) (local.get $rest) (i32.const 1108) (i32.const 13) (; no-write-back ;)))
      (global.set $one_ack (call $same (local.get $value) (local.get $rest) (i32.const 1121) (i32.const 7) (; one-ack ;)))
      (return (i32.or
        (call $same (local.get $value) (local.get $rest) (i32.const 1128) (i32.const 4) (; none ;))
        (i32.or (global.get $no_write_back) (global.get $one_ack))))))
    (local.set $n (call $small (local.get $value) (local.get $rest)))
    (if (i32.eq (local.get $n) (i32.const -1)) (then (return (i32.const 0))))
    (if (call $same (local.get $line) (local.get $sign) (i32.const 1132) (i32.const 6) (; writes ;))
      (then (global.set $writes (local.get $n)) (return (i32.const 1))))
    (if (call $same (local.get $line) (local.get $sign) (i32.const 1138) (i32.const 5) (; reads ;))
      (then (global.set $reads (local.get $n)) (return (i32.const 1))))
    (i32.const 0))

  (func (export "init")
    (param $me i32) (param $size i32) (param $line i32) (param $length i32)
    (param $has_durable i32) (param $durable i32) (param $durable_length i32)
    (result i32)
    (local $text i32) (local $stop i32) (local $next i32)
    (if (i32.gt_u (local.get $size) (i32.const 32))
      (then (return (call $tagged (i32.const 1) (i32.const 1143) (i32.const 16) (; at most 32 nodes ;)))))
    (loop $lines
      (if (local.get $length) (then
        (local.set $next (call $find (local.get $line) (local.get $length) (i32.const 1159) (i32.const 1) (; \n ;)))
        (local.set $stop (select
          (i32.sub (i32.sub (local.get $next) (local.get $line)) (i32.const 1))
          (local.get $length)
          (local.get $next)))
        (if (i32.eqz (call $configure (local.get $line) (local.get $stop))) (then
          (local.set $text (call $begin))
          (call $put (i32.const 1160) (i32.const 31) (; this parameter cannot be used:  ;))
          ;; A text has room for 1024 bytes.
          (call $put (local.get $line) (select (local.get $stop) (i32.const 900) (i32.lt_u (local.get $stop) (i32.const 900))))
          (return (call $tagged (i32.const 1) (local.get $text) (call $end (local.get $text))))))
        (if (local.get $next) (then
          (local.set $length (i32.sub (local.get $length) (i32.sub (local.get $next) (local.get $line))))
          (local.set $line (local.get $next))
          (br $lines))))))
    (global.set $nodes (local.get $size))
    (global.set $quorum (select
      (i32.const 1)
      (i32.add (i32.shr_u (local.get $size) (i32.const 1)) (i32.const 1))
      (global.get $one_ack)))
    (global.set $role (select
      (select (i32.const 1) (i32.const 2) (i32.eq (i32.add (local.get $me) (i32.const 1)) (local.get $size)))
      (i32.const 0)
      (local.get $me)))
    (call $tagged (i32.const 0) (i32.const 2048) (i32.const 0)))

  (func (export "handle_message") (param $src i32) (param $message i32) (param $length i32) (result i32)
    (local $kind i32) (local $op i32) (local $value i32) (local $version i32) (local $text i32)
    (local.set $kind (call $find (local.get $message) (local.get $length) (i32.const 1191) (i32.const 7) (; "kind": ;)))
    (local.set $op (call $field (local.get $message) (local.get $length) (i32.const 1198) (i32.const 5) (; "op": ;)))
    (if (call $same (local.get $kind) (i32.const 7) (i32.const 1203) (i32.const 7) (; "query" ;)) (then
      (local.set $text (call $begin))
      (call $message (i32.const 1210) (i32.const 7) (; "reply" ;) (local.get $op))
      (call $message_copy (global.get $copy_value) (global.get $copy_version))
      (return (call $envelopes (local.get $src) (i32.const 1) (local.get $text) (call $end (local.get $text))))))
    (if (call $same (local.get $kind) (i32.const 8) (i32.const 1217) (i32.const 8) (; "stored" ;)) (then
      (if (i32.and (i32.eq (global.get $phase) (i32.const 2)) (i32.eq (local.get $op) (global.get $op))) (then
        (call $acknowledge (local.get $src))
        (if (call $enough) (then (call $finish)))))
      (return (call $nothing))))
    (local.set $value (call $field (local.get $message) (local.get $length) (i32.const 1225) (i32.const 8) (; "value": ;)))
    (local.set $version (call $field (local.get $message) (local.get $length) (i32.const 1233) (i32.const 10) (; "version": ;)))
    (if (call $same (local.get $kind) (i32.const 7) (i32.const 1097) (i32.const 7) (; "store" ;)) (then
      (if (i32.gt_u (local.get $version) (global.get $copy_version)) (then
        (global.set $copy_value (local.get $value))
        (global.set $copy_version (local.get $version))))
      (local.set $text (call $begin))
      (call $message (i32.const 1217) (i32.const 8) (; "stored" ;) (local.get $op))
      (call $byte (i32.const 125))
      (return (call $envelopes (local.get $src) (i32.const 1) (local.get $text) (call $end (local.get $text))))))
    (if (i32.eqz (call $same (local.get $kind) (i32.const 7) (i32.const 1210) (i32.const 7) (; "reply" ;))) (then
      (call $log (i32.const 1243) (i32.const 22) (; panic: unknown message ;))
      (unreachable)))
    (if (i32.and (i32.eq (global.get $phase) (i32.const 1)) (i32.eq (local.get $op) (global.get $op))) (then
      (call $acknowledge (local.get $src))
      (if (i32.gt_u (local.get $version) (global.get $best_version)) (then
        (global.set $best_value (local.get $value))
        (global.set $best_version (local.get $version))))
      (if (call $enough) (then
        (if (i32.eqz (global.get $no_write_back)) (then (return (call $store))))
        (call $finish)))))
    (call $nothing))

  (func (export "local_events") (result i32)
    (local $event i32) (local $name i32) (local $length i32)
    (if (global.get $phase) (then (return (call $nothing))))
    ;; The name in quotation marks is the payload.
    (block $one
      (if (i32.and (i32.eqz (global.get $role)) (i32.lt_u (global.get $op) (global.get $writes))) (then
        (local.set $name (i32.const 1265)) (; "write" ;)
        (local.set $length (i32.const 7))
        (br $one)))
      (if (i32.and (i32.eq (global.get $role) (i32.const 1)) (i32.lt_u (global.get $op) (global.get $reads))) (then
        (local.set $name (i32.const 1272)) (; "read" ;)
        (local.set $length (i32.const 6))
        (br $one)))
      (return (call $nothing)))
    (local.set $event (call $room (i32.const 20)))
    (i32.store (local.get $event) (i32.add (local.get $name) (i32.const 1)))
    (i32.store offset=4 (local.get $event) (i32.sub (local.get $length) (i32.const 2)))
    (i32.store offset=8 (local.get $event) (i32.const 1))    ;; application
    (i32.store offset=12 (local.get $event) (local.get $name))
    (i32.store offset=16 (local.get $event) (local.get $length))
    (call $pair (local.get $event) (i32.const 1)))

  (func (export "handle_local")
    (param $name i32) (param $length i32) (param $kind i32) (param $payload i32) (param $payload_length i32)
    (result i32)
    (local $text i32)
    (global.set $op (i32.add (global.get $op) (i32.const 1)))
    (if (call $same (local.get $name) (local.get $length) (i32.const 1278) (i32.const 5) (; write ;)) (then
      (global.set $best_value (i32.add (i32.const 100) (global.get $op)))
      (global.set $best_version (global.get $op))
      (return (call $store))))
    (global.set $phase (i32.const 1))
    (local.set $text (call $begin))
    (call $message (i32.const 1203) (i32.const 7) (; "query" ;) (global.get $op))
    (call $byte (i32.const 125))
    (call $envelopes (i32.const 0) (global.get $nodes) (local.get $text) (call $end (local.get $text))))

  (func (export "serialize") (result i32)
    (local $text i32) (local $i i32) (local $first i32)
    (local.set $text (call $begin))
    (call $put (i32.const 1283) (i32.const 9) (; {"acks":[ ;))
    (local.set $first (i32.const 1))
    (loop $next
      (if (i32.lt_u (local.get $i) (global.get $nodes)) (then
        (if (i32.and (i32.shr_u (global.get $acks) (local.get $i)) (i32.const 1)) (then
          (if (i32.eqz (local.get $first)) (then (call $byte (i32.const 44))))
          (local.set $first (i32.const 0))
          (call $number (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))))
    (call $put (i32.const 1292) (i32.const 9) (; ],"best": ;))
    (call $copy (global.get $best_value) (global.get $best_version))
    (call $put (i32.const 1301) (i32.const 8) (; ,"copy": ;))
    (call $copy (global.get $copy_value) (global.get $copy_version))
    (call $put (i32.const 1082) (i32.const 6) (; ,"op": ;))
    (call $number (global.get $op))
    (call $put (i32.const 1309) (i32.const 9) (; ,"phase": ;))
    (if (i32.eqz (global.get $phase)) (then (call $put (i32.const 1318) (i32.const 6) (; "idle" ;))))
    (if (i32.eq (global.get $phase) (i32.const 1)) (then (call $put (i32.const 1203) (i32.const 7) (; "query" ;))))
    (if (i32.eq (global.get $phase) (i32.const 2)) (then (call $put (i32.const 1097) (i32.const 7) (; "store" ;))))
    (call $put (i32.const 1324) (i32.const 12) (; ,"returned": ;))
    (call $put_returned)
    (call $put (i32.const 1336) (i32.const 8) (; ,"role": ;))
    (if (i32.eqz (global.get $role)) (then (call $put (i32.const 1344) (i32.const 8) (; "writer" ;))))
    (if (i32.eq (global.get $role) (i32.const 1)) (then (call $put (i32.const 1352) (i32.const 8) (; "reader" ;))))
    (if (i32.eq (global.get $role) (i32.const 2)) (then (call $put (i32.const 1360) (i32.const 9) (; "replica" ;))))
    (call $byte (i32.const 125))
    (call $pair (local.get $text) (call $end (local.get $text))))

  ;; ---- what must hold

  ;; Name, kind (0 always, 1 sometimes) and scope (0 node, 1 system) of one property.
  (func $property (param $place i32) (param $name i32) (param $length i32) (param $kind i32) (param $scope i32)
    (i32.store (local.get $place) (local.get $name))
    (i32.store offset=4 (local.get $place) (local.get $length))
    (i32.store8 offset=8 (local.get $place) (local.get $kind))
    (i32.store8 offset=9 (local.get $place) (local.get $scope)))

  (func (export "properties") (result i32)
    (local $list i32)
    (local.set $list (call $room (i32.const 36)))
    (call $property (local.get $list) (i32.const 1369) (i32.const 8) (; monotone ;) (i32.const 0) (i32.const 0))
    (call $property (i32.add (local.get $list) (i32.const 12)) (i32.const 1377) (i32.const 18) (; stored-by-majority ;) (i32.const 0) (i32.const 1))
    (call $property (i32.add (local.get $list) (i32.const 24)) (i32.const 1395) (i32.const 13) (; write-is-read ;) (i32.const 1) (i32.const 0))
    (call $pair (local.get $list) (i32.const 3)))

  (func (export "view") (param $property i32) (result i32)
    (local $text i32) (local $n i32) (local $i i32)
    (local.set $text (call $begin))
    (block $none
      (if (i32.eqz (local.get $property)) (then
        (br_if $none (i32.lt_u (global.get $returned) (i32.const 2)))
        (call $put_returned)
        (return (call $tagged (i32.const 1) (local.get $text) (call $end (local.get $text))))))
      (if (i32.eq (local.get $property) (i32.const 1)) (then
        ;; The last write that is complete: of the writer, the one before while one is under way.
        (if (i32.eqz (global.get $role)) (then
          (local.set $n (i32.sub (global.get $op) (i32.ne (global.get $phase) (i32.const 0))))))
        (br_if $none (i32.eqz (i32.or (local.get $n) (global.get $copy_version))))
        (call $put (i32.const 1408) (i32.const 12) (; {"complete": ;))
        (call $number (local.get $n))
        (call $put (i32.const 1033) (i32.const 11) (; ,"version": ;))
        (call $number (global.get $copy_version))
        (call $byte (i32.const 125))
        (return (call $tagged (i32.const 1) (local.get $text) (call $end (local.get $text))))))
      ;; The newest version that was read.
      (loop $next
        (if (i32.lt_u (local.get $i) (global.get $returned)) (then
          (local.set $n (select
            (local.get $n)
            (i32.load offset=256 (i32.shl (local.get $i) (i32.const 2)))
            (i32.gt_u (local.get $n) (i32.load offset=256 (i32.shl (local.get $i) (i32.const 2))))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $next))))
      (br_if $none (i32.eqz (local.get $n)))
      (call $number (local.get $n))
      (return (call $tagged (i32.const 1) (local.get $text) (call $end (local.get $text)))))
    (call $tagged (i32.const 0) (i32.const 2048) (i32.const 0)))

  ;; A field of the view of a node; 0 if it has none. A view is a tag, an address and a length.
  (func $seen (param $view i32) (param $key i32) (param $key_length i32) (result i32)
    (if (i32.eqz (i32.load8_u (local.get $view))) (then (return (i32.const 0))))
    (call $field
      (i32.load offset=4 (local.get $view)) (i32.load offset=8 (local.get $view))
      (local.get $key) (local.get $key_length)))

  (func (export "invariant") (param $property i32) (param $views i32) (param $count i32) (result i32)
    (local $text i32) (local $at i32) (local $end i32) (local $n i32) (local $before i32)
    (local $complete i32) (local $holders i32) (local $i i32)
    (local.set $text (call $begin))
    (block $holds
      (if (i32.eqz (local.get $property)) (then
        (local.set $at (i32.load offset=4 (local.get $views)))
        (local.set $end (i32.add (local.get $at) (i32.load offset=8 (local.get $views))))
        ;; Each number of [1,0] follows a bracket or a comma.
        (loop $next
          (local.set $n (call $read (i32.add (local.get $at) (i32.const 1))))
          (if (i32.lt_u (local.get $n) (local.get $before)) (then
            (call $put (i32.const 1420) (i32.const 24) (; a read returned version  ;))
            (call $number (local.get $n))
            (call $put (i32.const 1444) (i32.const 7) (;  after  ;))
            (call $number (local.get $before))
            (return (call $tagged (i32.const 1) (local.get $text) (call $end (local.get $text))))))
          (local.set $before (local.get $n))
          (local.set $at (call $find
            (i32.add (local.get $at) (i32.const 1))
            (i32.sub (i32.sub (local.get $end) (local.get $at)) (i32.const 1))
            (i32.const 1451) (i32.const 1) (; , ;)))
          (br_if $holds (i32.eqz (local.get $at)))
          (local.set $at (i32.sub (local.get $at) (i32.const 1)))
          (br $next))))
      (br_if $holds (i32.ne (local.get $property) (i32.const 1)))
      (loop $next
        (local.set $n (call $seen (i32.add (local.get $views) (i32.mul (local.get $i) (i32.const 12))) (i32.const 1452) (i32.const 11) (; "complete": ;)))
        (if (i32.gt_u (local.get $n) (local.get $complete)) (then (local.set $complete (local.get $n))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $i) (local.get $count))))
      (local.set $i (i32.const 0))
      (loop $next
        (local.set $n (call $seen (i32.add (local.get $views) (i32.mul (local.get $i) (i32.const 12))) (i32.const 1233) (i32.const 10) (; "version": ;)))
        (local.set $holders (i32.add (local.get $holders) (i32.ge_u (local.get $n) (local.get $complete))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $i) (local.get $count))))
      (br_if $holds (i32.gt_u (local.get $holders) (i32.shr_u (local.get $count) (i32.const 1))))
      (call $put (i32.const 1463) (i32.const 6) (; write  ;))
      (call $number (local.get $complete))
      (call $put (i32.const 1469) (i32.const 18) (;  is complete, and  ;))
      (call $number (local.get $holders))
      (call $put (i32.const 1487) (i32.const 4) (;  of  ;))
      (call $number (local.get $count))
      (call $put (i32.const 1491) (i32.const 14) (;  nodes have it ;))
      (return (call $tagged (i32.const 1) (local.get $text) (call $end (local.get $text)))))
    (call $tagged (i32.const 0) (i32.const 2048) (i32.const 0)))

  ;; ---- what people are told; optional

  (func $word (param $place i32) (param $at i32) (param $length i32)
    (i32.store (local.get $place) (local.get $at))
    (i32.store offset=4 (local.get $place) (local.get $length)))

  (func (export "about") (result i32)
    (local $about i32) (local $list i32)
    (local.set $about (call $room (i32.const 40)))
    (local.set $list (call $room (i32.const 72)))
    (call $word (local.get $about) (i32.const 1690) (i32.const 13) (; register-text ;))
    (call $word (i32.add (local.get $about) (i32.const 8)) (i32.const 1518) (i32.const 5) (; 0.1.0 ;))
    (call $word (i32.add (local.get $about) (i32.const 16)) (i32.const 1523) (i32.const 51) (; A register kept by a majority, in WebAssembly text. ;))
    (i32.store offset=24 (local.get $about) (i32.const 3))   ;; nodes
    (i32.store16 offset=28 (local.get $about) (i32.const 0)) ;; unordered network, states are told apart by `serialize`
    (call $word (i32.add (local.get $about) (i32.const 32)) (local.get $list) (i32.const 3))
    (call $word (local.get $list) (i32.const 1132) (i32.const 6) (; writes ;))
    (call $word (i32.add (local.get $list) (i32.const 8)) (i32.const 1574) (i32.const 1) (; 1 ;))
    (call $word (i32.add (local.get $list) (i32.const 16)) (i32.const 1575) (i32.const 23) (; how often node 0 writes ;))
    (call $word (i32.add (local.get $list) (i32.const 24)) (i32.const 1138) (i32.const 5) (; reads ;))
    (call $word (i32.add (local.get $list) (i32.const 32)) (i32.const 1598) (i32.const 1) (; 2 ;))
    (call $word (i32.add (local.get $list) (i32.const 40)) (i32.const 1599) (i32.const 29) (; how often the last node reads ;))
    (call $word (i32.add (local.get $list) (i32.const 48)) (i32.const 1105) (i32.const 3) (; bug ;))
    (call $word (i32.add (local.get $list) (i32.const 56)) (i32.const 1128) (i32.const 4) (; none ;))
    (call $word (i32.add (local.get $list) (i32.const 64)) (i32.const 1628) (i32.const 62) (; what is wrong on purpose (one of none, no-write-back, one-ack) ;))
    (local.get $about))

  ;; ---- words, of which the code above names address and length
  (data (i32.const 1024) "{\"value\":")
  (data (i32.const 1033) ",\"version\":")
  (data (i32.const 1044) "panic: a message lacks a field")
  (data (i32.const 1074) "{\"kind\":")
  (data (i32.const 1082) ",\"op\":")
  (data (i32.const 1088) ",\"value\":")
  (data (i32.const 1097) "\"store\"")
  (data (i32.const 1104) "=")
  (data (i32.const 1105) "bug")
  (data (i32.const 1108) "no-write-back")
  (data (i32.const 1121) "one-ack")
  (data (i32.const 1128) "none")
  (data (i32.const 1132) "writes")
  (data (i32.const 1138) "reads")
  (data (i32.const 1143) "at most 32 nodes")
  (data (i32.const 1159) "\n")
  (data (i32.const 1160) "this parameter cannot be used: ")
  (data (i32.const 1191) "\"kind\":")
  (data (i32.const 1198) "\"op\":")
  (data (i32.const 1203) "\"query\"")
  (data (i32.const 1210) "\"reply\"")
  (data (i32.const 1217) "\"stored\"")
  (data (i32.const 1225) "\"value\":")
  (data (i32.const 1233) "\"version\":")
  (data (i32.const 1243) "panic: unknown message")
  (data (i32.const 1265) "\"write\"")
  (data (i32.const 1272) "\"read\"")
  (data (i32.const 1278) "write")
  (data (i32.const 1283) "{\"acks\":[")
  (data (i32.const 1292) "],\"best\":")
  (data (i32.const 1301) ",\"copy\":")
  (data (i32.const 1309) ",\"phase\":")
  (data (i32.const 1318) "\"idle\"")
  (data (i32.const 1324) ",\"returned\":")
  (data (i32.const 1336) ",\"role\":")
  (data (i32.const 1344) "\"writer\"")
  (data (i32.const 1352) "\"reader\"")
  (data (i32.const 1360) "\"replica\"")
  (data (i32.const 1369) "monotone")
  (data (i32.const 1377) "stored-by-majority")
  (data (i32.const 1395) "write-is-read")
  (data (i32.const 1408) "{\"complete\":")
  (data (i32.const 1420) "a read returned version ")
  (data (i32.const 1444) " after ")
  (data (i32.const 1451) ",")
  (data (i32.const 1452) "\"complete\":")
  (data (i32.const 1463) "write ")
  (data (i32.const 1469) " is complete, and ")
  (data (i32.const 1487) " of ")
  (data (i32.const 1491) " nodes have it")
  (data (i32.const 1518) "0.1.0")
  (data (i32.const 1523) "A register kept by a majority, in WebAssembly text.")
  (data (i32.const 1574) "1")
  (data (i32.const 1575) "how often node 0 writes")
  (data (i32.const 1598) "2")
  (data (i32.const 1599) "how often the last node reads")
  (data (i32.const 1628) "what is wrong on purpose (one of none, no-write-back, one-ack)")
  ;; Last, so that a longer name has room.
  (data (i32.const 1690) "register-text"))
