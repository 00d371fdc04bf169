;; Every node greets the next one, once.
;;
;; No compiler, no library: the functions of wit/protocol.wit under their plain names, which `host build` turns into a component.
;; States and messages are canonical JSON (docs/encoding.md).
;;
;; Memory: 1024 to 2047 words; from 2048 arguments and results, until the host has read them.
(module
  (memory (export "memory") 1)

  ;; What the node knows: all that `serialize` writes.
  (global $heard (mut i32) (i32.const 0))

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
    ;; Texts are short: 64 bytes are more than the longest one needs.
    (global.set $at (call $room (i32.const 64)))
    (global.get $at))

  (func $end (param $begin i32) (result i32) (i32.sub (global.get $at) (local.get $begin)))

  (func $put (param $from i32) (param $length i32)
    (memory.copy (global.get $at) (local.get $from) (local.get $length))
    (global.set $at (i32.add (global.get $at) (local.get $length))))

  (func $number (param $n i32)
    (if (i32.gt_u (local.get $n) (i32.const 9)) (then (call $number (i32.div_u (local.get $n) (i32.const 10)))))
    (i32.store8 (global.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10))))
    (global.set $at (i32.add (global.get $at) (i32.const 1))))

  ;; An address and a length at a place in memory.
  (func $word (param $place i32) (param $at i32) (param $length i32)
    (i32.store (local.get $place) (local.get $at))
    (i32.store offset=4 (local.get $place) (local.get $length)))

  ;; The same as a result: a list.
  (func $list (param $at i32) (param $length i32) (result i32)
    (local $list i32)
    (local.set $list (call $room (i32.const 8)))
    (call $word (local.get $list) (local.get $at) (local.get $length))
    (local.get $list))

  ;; The same after a tag: 1 for a value that is there, or for an error.
  (func $tagged (param $tag i32) (param $at i32) (param $length i32) (result i32)
    (local $result i32)
    (local.set $result (call $room (i32.const 12)))
    (i32.store (local.get $result) (local.get $tag))
    (call $word (i32.add (local.get $result) (i32.const 4)) (local.get $at) (local.get $length))
    (local.get $result))

  ;; ---- the protocol

  (func (export "init")
    (param $me i32) (param $size i32) (param $config i32) (param $length i32)
    (param $has_durable i32) (param $durable i32) (param $durable_length i32)
    (result i32)
    (local $envelope i32)
    (if (local.get $length)
      (then (return (call $tagged (i32.const 1) (i32.const 1024) (i32.const 23) (; there are no parameters ;)))))
    (local.set $envelope (call $room (i32.const 12)))
    (i32.store (local.get $envelope)
      (i32.rem_u (i32.add (local.get $me) (i32.const 1)) (local.get $size)))
    (call $word (i32.add (local.get $envelope) (i32.const 4)) (i32.const 1047) (i32.const 7) (; "hello" ;))
    (call $tagged (i32.const 0) (local.get $envelope) (i32.const 1)))

  (func (export "handle_message") (param $from i32) (param $text i32) (param $length i32) (result i32)
    (global.set $heard (i32.add (global.get $heard) (i32.const 1)))
    (call $list (i32.const 2048) (i32.const 0)))

  (func (export "local_events") (result i32)
    (call $list (i32.const 2048) (i32.const 0)))

  (func (export "handle_local")
    (param $name i32) (param $name_length i32) (param $kind i32) (param $payload i32) (param $payload_length i32)
    (result i32)
    (call $list (i32.const 2048) (i32.const 0)))

  ;; {"heard":1}
  (func (export "serialize") (result i32)
    (local $text i32)
    (local.set $text (call $begin))
    (call $put (i32.const 1054) (i32.const 9) (; {"heard": ;))
    (call $number (global.get $heard))
    (call $put (i32.const 1063) (i32.const 1) (; } ;))
    (call $list (local.get $text) (call $end (local.get $text))))

  ;; ---- what must hold

  (func (export "properties") (result i32)
    (local $property i32)
    (local.set $property (call $room (i32.const 12)))
    (call $word (local.get $property) (i32.const 1064) (i32.const 10) (; heard-once ;))
    (i32.store16 offset=8 (local.get $property) (i32.const 0)) ;; always, of one node
    (call $list (local.get $property) (i32.const 1)))

  (func (export "view") (param $property i32) (result i32)
    (local $text i32)
    (local.set $text (call $begin))
    (call $number (global.get $heard))
    (call $tagged (i32.const 1) (local.get $text) (call $end (local.get $text))))

  (func (export "invariant") (param $property i32) (param $views i32) (param $count i32) (result i32)
    (local $text i32) (local $view i32) (local $length i32)
    ;; A view has a tag, an address and a length. That of one node is a number, and 0 and 1 have one digit.
    (local.set $view (i32.load offset=4 (local.get $views)))
    (local.set $length (i32.load offset=8 (local.get $views)))
    (if (i32.and
          (i32.eq (local.get $length) (i32.const 1))
          (i32.le_u (i32.load8_u (local.get $view)) (i32.const 49) (; 1 ;)))
      (then (return (call $tagged (i32.const 0) (i32.const 2048) (i32.const 0)))))
    (local.set $text (call $begin))
    (call $put (i32.const 1074) (i32.const 6) (; heard  ;))
    (call $put (local.get $view) (local.get $length))
    (call $put (i32.const 1080) (i32.const 10) (;  greetings ;))
    (call $tagged (i32.const 1) (local.get $text) (call $end (local.get $text))))

  ;; ---- what people are told; optional

  (func (export "about") (result i32)
    (local $about i32)
    (local.set $about (call $room (i32.const 40)))
    (call $word (local.get $about) (i32.const 1126) (i32.const 13) (; bare-protocol ;))
    (call $word (i32.add (local.get $about) (i32.const 8)) (i32.const 1090) (i32.const 5) (; 0.1.0 ;))
    (call $word (i32.add (local.get $about) (i32.const 16)) (i32.const 1095) (i32.const 31) (; Every node greets the next one. ;))
    (i32.store offset=24 (local.get $about) (i32.const 3))   ;; nodes
    (i32.store16 offset=28 (local.get $about) (i32.const 0)) ;; unordered network, states are told apart by `serialize`
    (call $word (i32.add (local.get $about) (i32.const 32)) (i32.const 2048) (i32.const 0)) ;; no parameters
    (local.get $about))

  ;; ---- words, of which the code above names address and length
  (data (i32.const 1024) "there are no parameters")
  (data (i32.const 1047) "\"hello\"")
  (data (i32.const 1054) "{\"heard\":")
  (data (i32.const 1063) "}")
  (data (i32.const 1064) "heard-once")
  (data (i32.const 1074) "heard ")
  (data (i32.const 1080) " greetings")
  (data (i32.const 1090) "0.1.0")
  (data (i32.const 1095) "Every node greets the next one.")
  ;; Last, so that a longer name has room.
  (data (i32.const 1126) "bare-protocol"))
