;; What stands in for functions of WASI 0.2, by their names in `wit-component`'s ABI; see `wasi.rs`. A line without text ends each.
;; A result that is no number goes to the address in the last parameter. A list is a result that the caller frees: room for it
;; comes from the function `$realloc` of the table.

  ;; It is always 2001-09-09 01:46:40, one billion seconds after 1970.
  (func $"wasi:clocks/wall-clock#now" (param $result i32)
    (i64.store (local.get $result) (i64.const 1000000000))
    (i32.store offset=8 (local.get $result) (i32.const 0)))

  (func $"wasi:clocks/wall-clock#resolution" (param $result i32)
    (i64.store (local.get $result) (i64.const 0))
    (i32.store offset=8 (local.get $result) (i32.const 1)))

  (func $"wasi:clocks/monotonic-clock#now" (result i64) (i64.const 1000000000000000000))

  (func $"wasi:clocks/monotonic-clock#resolution" (result i64) (i64.const 1))

  ;; What can be waited for is 0 if it is there, and 1 if it never comes.
  (func $"wasi:clocks/monotonic-clock#subscribe-instant" (param $when i64) (result i32)
    (i64.gt_u (local.get $when) (i64.const 1000000000000000000)))

  (func $"wasi:clocks/monotonic-clock#subscribe-duration" (param $nanoseconds i64) (result i32)
    (i64.ne (local.get $nanoseconds) (i64.const 0)))

  (func $"wasi:io/poll#[method]pollable.block" (param $pollable i32)
    (if (local.get $pollable) (then (unreachable))))

  ;; The first of these that is there; a trap if none is.
  (func $"wasi:io/poll#poll" (param $pollables i32) (param $count i32) (param $result i32)
    (local $index i32) (local $list i32)
    (loop $next
      (if (i32.eq (local.get $index) (local.get $count)) (then (unreachable)))
      (if (i32.load (i32.add (local.get $pollables) (i32.mul (local.get $index) (i32.const 4)))) (then
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br $next))))
    (local.set $list (call_indirect (param i32 i32 i32 i32) (result i32)
      (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 4) (global.get $realloc)))
    (i32.store (local.get $list) (local.get $index))
    (i32.store (local.get $result) (local.get $list))
    (i32.store offset=4 (local.get $result) (i32.const 1)))

  ;; The same bytes for the same length: a multiple of an odd constant, of which the upper byte is taken.
  (func $"wasi:random/random#get-random-bytes" (param $length i64) (param $result i32)
    (local $list i32) (local $i i32)
    (local.set $list (call_indirect (param i32 i32 i32 i32) (result i32)
      (i32.const 0) (i32.const 0) (i32.const 1) (i32.wrap_i64 (local.get $length)) (global.get $realloc)))
    (block $done
      (loop $next
        (br_if $done (i32.eq (local.get $i) (i32.wrap_i64 (local.get $length))))
        (i32.store8 (i32.add (local.get $list) (local.get $i))
          (i32.shr_u (i32.mul (i32.add (local.get $i) (i32.const 1)) (i32.const 0x9e3779b1)) (i32.const 24)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $result) (local.get $list))
    (i32.store offset=4 (local.get $result) (i32.wrap_i64 (local.get $length))))

  ;; No arguments, no variables, no folders: empty lists.
  (func $"wasi:cli/environment#get-arguments" (param $result i32)
    (i64.store align=4 (local.get $result) (i64.const 0)))

  (func $"wasi:cli/environment#get-environment" (param $result i32)
    (i64.store align=4 (local.get $result) (i64.const 0)))

  (func $"wasi:filesystem/preopens#get-directories" (param $result i32)
    (i64.store align=4 (local.get $result) (i64.const 0)))

  (func $"wasi:cli/stdin#get-stdin" (result i32) (i32.const 0))

  (func $"wasi:cli/stdout#get-stdout" (result i32) (i32.const 1))

  (func $"wasi:cli/stderr#get-stderr" (result i32) (i32.const 2))

  ;; There is no terminal.
  (func $"wasi:cli/terminal-stdin#get-terminal-stdin" (param $result i32)
    (i32.store8 (local.get $result) (i32.const 0)))

  (func $"wasi:cli/terminal-stdout#get-terminal-stdout" (param $result i32)
    (i32.store8 (local.get $result) (i32.const 0)))

  (func $"wasi:cli/terminal-stderr#get-terminal-stderr" (param $result i32)
    (i32.store8 (local.get $result) (i32.const 0)))

  (func $"wasi:sockets/instance-network#instance-network" (result i32) (i32.const 0))

  ;; Input is at its end: an error, `closed`.
  (func $"wasi:io/streams#[method]input-stream.read" (param $stream i32) (param $length i64) (param $result i32)
    (i32.store8 (local.get $result) (i32.const 1))
    (i32.store8 offset=4 (local.get $result) (i32.const 1)))

  (func $"wasi:io/streams#[method]input-stream.subscribe" (param $stream i32) (result i32) (i32.const 0))

  (func $"wasi:io/streams#[method]output-stream.subscribe" (param $stream i32) (result i32) (i32.const 0))

  (func $"wasi:io/streams#[method]output-stream.check-write" (param $stream i32) (param $result i32)
    (i32.store8 (local.get $result) (i32.const 0))
    (i64.store offset=8 (local.get $result) (i64.const 65536)))

  (func $"wasi:io/streams#[method]output-stream.blocking-flush" (param $stream i32) (param $result i32)
    (i32.store8 (local.get $result) (i32.const 0)))

  ;; Each line is a call of `log`, also one that does not end; one without text is left out.
  (func $"wasi:io/streams#[method]output-stream.write" (param $stream i32) (param $at i32) (param $length i32) (param $result i32)
    (local $end i32) (local $from i32) (local $is_end i32)
    (i32.store8 (local.get $result) (i32.const 0))
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (local.set $from (local.get $at))
    (loop $next
      (local.set $is_end (i32.eq (local.get $at) (local.get $end)))
      (if (if (result i32) (local.get $is_end) (then (i32.const 1)) (else (i32.eq (i32.load8_u (local.get $at)) (i32.const 10))))
        (then
          (if (i32.ne (local.get $from) (local.get $at))
            (then (call $log (local.get $from) (i32.sub (local.get $at) (local.get $from)))))
          (local.set $from (i32.add (local.get $at) (i32.const 1)))))
      (if (i32.eqz (local.get $is_end)) (then
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))))
