;; Stands in for `wasi_snapshot_preview1`, for languages whose runtime imports it whatever the program does.
;;
;; It has no state of its own: no memory, no table, no global. The clock stands still, random bytes are the same every time,
;; the environment is empty, there are no files. What is written to standard output or error goes to `log`, a line for each piece.
;; Waiting, sockets and the end of the process are traps; a poll that does not wait finds nothing.
(module
  (import "env" "memory" (memory 0))
  (import "host:protocol/environment@0.1.0" "log" (func $log (param i32 i32)))

  ;; No arguments, no variables: two zeros, and nothing to copy.
  (func $none (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $bytes) (i32.const 0))
    (i32.const 0))
  (func $nothing (param i32 i32) (result i32) (i32.const 0))
  (export "args_sizes_get" (func $none))
  (export "args_get" (func $nothing))
  (export "environ_sizes_get" (func $none))
  (export "environ_get" (func $nothing))

  ;; It is always 2001-09-09 01:46:40, one billion seconds after 1970.
  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $at i32) (result i32)
    (i64.store (local.get $at) (i64.const 1000000000000000000))
    (i32.const 0))
  (func (export "clock_res_get") (param $clock i32) (param $at i32) (result i32)
    (i64.store (local.get $at) (i64.const 1))
    (i32.const 0))

  ;; The same bytes for the same length: a multiple of an odd constant, of which the upper byte is taken.
  (func (export "random_get") (param $at i32) (param $length i32) (result i32)
    (local $i i32)
    (block $done
      (loop $next
        (br_if $done (i32.eq (local.get $i) (local.get $length)))
        (i32.store8 (i32.add (local.get $at) (local.get $i))
          (i32.shr_u (i32.mul (i32.add (local.get $i) (i32.const 1)) (i32.const 0x9e3779b1)) (i32.const 24)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  (func (export "sched_yield") (result i32) (i32.const 0))

  ;; Each piece becomes a line; the line break at its end is left out, and so is a piece that is nothing else.
  (func (export "fd_write") (param $fd i32) (param $pieces i32) (param $count i32) (param $written i32) (result i32)
    (local $at i32) (local $length i32) (local $total i32)
    ;; 8 = EBADF
    (if (i32.ge_u (i32.sub (local.get $fd) (i32.const 1)) (i32.const 2)) (then (return (i32.const 8))))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $at (i32.load (local.get $pieces)))
        (local.set $length (i32.load offset=4 (local.get $pieces)))
        (local.set $total (i32.add (local.get $total) (local.get $length)))
        (if (local.get $length) (then
          (if (i32.eq (i32.load8_u (i32.sub (i32.add (local.get $at) (local.get $length)) (i32.const 1))) (i32.const 10))
            (then (local.set $length (i32.sub (local.get $length) (i32.const 1)))))
          (if (local.get $length) (then (call $log (local.get $at) (local.get $length))))))
        (local.set $pieces (i32.add (local.get $pieces) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $written) (local.get $total))
    (i32.const 0))

  ;; No file is open, so every other question about one is answered by EBADF; a path leads to ENOTCAPABLE (76).
  (func $bad_1 (param i32) (result i32) (i32.const 8))
  (func $bad_2 (param i32 i32) (result i32) (i32.const 8))
  (func $bad_3 (param i32 i32 i32) (result i32) (i32.const 8))
  (func $bad_4 (param i32 i32 i32 i32) (result i32) (i32.const 8))
  (func $bad_seek (param i32 i64 i32 i32) (result i32) (i32.const 8))
  (func $bad_size (param i32 i64) (result i32) (i32.const 8))
  (func $bad_range (param i32 i64 i64 i32) (result i32) (i32.const 8))
  (func $bad_allocate (param i32 i64 i64) (result i32) (i32.const 8))
  (func $bad_position (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (func $no_path_3 (param i32 i32 i32) (result i32) (i32.const 76))
  (func $no_path_5 (param i32 i32 i32 i32 i32) (result i32) (i32.const 76))
  (func $no_path_6 (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 76))
  (func $no_path_7 (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 76))
  (func $no_path_times (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 76))
  (func $no_path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 76))
  (export "fd_close" (func $bad_1))
  (export "fd_datasync" (func $bad_1))
  (export "fd_sync" (func $bad_1))
  (export "fd_renumber" (func $bad_2))
  (export "fd_fdstat_get" (func $bad_2))
  (export "fd_fdstat_set_flags" (func $bad_2))
  (export "fd_fdstat_set_rights" (func $bad_allocate))
  (export "fd_filestat_get" (func $bad_2))
  (export "fd_filestat_set_size" (func $bad_size))
  (export "fd_filestat_set_times" (func $bad_range))
  (export "fd_allocate" (func $bad_allocate))
  (export "fd_advise" (func $bad_range))
  (export "fd_prestat_get" (func $bad_2))
  (export "fd_prestat_dir_name" (func $bad_3))
  (export "fd_tell" (func $bad_2))
  (export "fd_seek" (func $bad_seek))
  (export "fd_read" (func $bad_4))
  (export "fd_pread" (func $bad_position))
  (export "fd_pwrite" (func $bad_position))
  (export "fd_readdir" (func $bad_position))
  (export "path_create_directory" (func $no_path_3))
  (export "path_remove_directory" (func $no_path_3))
  (export "path_unlink_file" (func $no_path_3))
  (export "path_filestat_get" (func $no_path_5))
  (export "path_filestat_set_times" (func $no_path_times))
  (export "path_symlink" (func $no_path_5))
  (export "path_readlink" (func $no_path_6))
  (export "path_rename" (func $no_path_6))
  (export "path_link" (func $no_path_7))
  (export "path_open" (func $no_path_open))

  ;; Go's scheduler polls, without a timeout, when it has collected garbage. A subscription has 48 bytes: a word of the caller's at 0,
  ;; the kind at 8, where 0 is a clock, and the timeout at 24. That of a clock with no timeout is the event: its time is up.
  (func $wasi_snapshot_preview1.poll_oneoff (export "poll_oneoff") (param $in i32) (param $out i32) (param $count i32) (param $events i32) (result i32)
    (loop $next
      (if (i32.eqz (local.get $count)) (then (unreachable)))
      (if (i32.or (i32.load8_u offset=8 (local.get $in)) (i64.ne (i64.load offset=24 (local.get $in)) (i64.const 0)))
        (then
          (local.set $in (i32.add (local.get $in) (i32.const 48)))
          (local.set $count (i32.sub (local.get $count) (i32.const 1)))
          (br $next))))
    (i64.store (local.get $out) (i64.load (local.get $in)))
    ;; No error, and the kind of a clock.
    (i64.store offset=8 (local.get $out) (i64.const 0))
    (i32.store (local.get $events) (i32.const 1))
    (i32.const 0))

  ;; What a protocol must not do: waiting, sockets, ending the process. The names of what no plugin has tell the sandbox what was asked for.
  (func (export "proc_exit") (param i32) (unreachable))
  (func (export "proc_raise") (param i32) (result i32) (unreachable))
  (func $wasi_snapshot_preview1.sock_accept (export "sock_accept") (param i32 i32 i32) (result i32) (unreachable))
  (func $wasi_snapshot_preview1.sock_recv (export "sock_recv") (param i32 i32 i32 i32 i32 i32) (result i32) (unreachable))
  (func $wasi_snapshot_preview1.sock_send (export "sock_send") (param i32 i32 i32 i32 i32) (result i32) (unreachable))
  (func $wasi_snapshot_preview1.sock_shutdown (export "sock_shutdown") (param i32 i32) (result i32) (unreachable))
)
