

def explain(kind, error, trace):
    """Tells the host why the plugin fails: in place of printing an exception that nobody takes, before the call traps."""
    place = None
    while trace:
        file = trace.tb_frame.f_code.co_filename
        # The folder of the plugin. What it calls of others says less.
        if file.startswith("/0/") or place is None:
            place = f"{file.removeprefix('/0/')}:{trace.tb_lineno}"
        trace = trace.tb_next
    wanted = wants(error)
    words = f"panic: {kind.__name__}: {error}" if wanted is None else f"host:platform {wanted}"
    environment.log(f"{words} ({place})")


def wants(error):
    """What no plugin has and was asked for; none if the plugin or its library is wrong."""
    if isinstance(error, Platform):
        return str(error)
    if isinstance(error, SystemExit):
        return f"the end of the process: {error!r}"
    if isinstance(error, ImportError):
        return f"a module that was not imported when the plugin was built: {error}"
    if isinstance(error, LookupError) and "unknown encoding" in str(error):
        return f"a module of encodings that was not imported when the plugin was built: {error}"
    if isinstance(error, OSError) and error.errno is not None:
        return f"a file, a socket or a process: {type(error).__name__}: {error}"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return f"a thread: {error}"
    return None


sys.excepthook = explain
