

def explain(kind, error, trace):
    """Tells the host why the plugin fails: in place of printing an exception that nobody takes, before the call traps."""
    place = None
    while trace:
        file = trace.tb_frame.f_code.co_filename
        # The folder of the plugin. What it calls of others says less.
        if file.startswith("/0/") or place is None:
            place = f"{file.removeprefix('/0/')}:{trace.tb_lineno}"
        trace = trace.tb_next
    environment.log(f"panic: {kind.__name__}: {error} ({place})")


sys.excepthook = explain
