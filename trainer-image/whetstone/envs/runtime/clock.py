"""A clock that is ahead, so that an environment that reads the clock makes other tasks."""


def set_clock_ahead(seconds):
    """Moves what `time` and `datetime` tell of now. Called before the environment is loaded.

    What reads the system's clock by other ways stays: extension modules, and programs that the environment starts.
    """
    # Both are loaded here alone: every start would pay for them.
    import datetime
    import time

    _move_time(time, seconds)
    _move_datetime(datetime, time)


def _move_time(time, seconds):
    now, now_ns, clock, clock_ns = time.time, time.time_ns, time.clock_gettime, time.clock_gettime_ns
    time.time = lambda: now() + seconds
    time.time_ns = lambda: now_ns() + seconds * 10**9
    time.clock_gettime = lambda which: clock(which) + (seconds if which == time.CLOCK_REALTIME else 0)
    time.clock_gettime_ns = lambda which: clock_ns(which) + (seconds * 10**9 if which == time.CLOCK_REALTIME else 0)
    # Functions that take a time after so many other arguments, and what they take where there is none.
    for name, before, default in (
        ("gmtime", 0, time.time),
        ("localtime", 0, time.time),
        ("ctime", 0, time.time),
        ("asctime", 0, lambda: time.localtime()),
        ("strftime", 1, lambda: time.localtime()),
    ):
        setattr(time, name, _with_time(getattr(time, name), before, default))


def _with_time(function, before, default):
    def called(*arguments):
        if len(arguments) <= before or arguments[before] is None:
            arguments = (*arguments[:before], default())
        return function(*arguments)

    return called


def _move_datetime(datetime, time):
    real_date, real_moment = datetime.date, datetime.datetime

    class Like(type):
        """Classes that make real dates, and take real dates for their own."""

        def __instancecheck__(cls, value):
            return isinstance(value, real) if (real := reals.get(cls)) else type.__instancecheck__(cls, value)

        def __subclasscheck__(cls, other):
            return issubclass(other, real) if (real := reals.get(cls)) else type.__subclasscheck__(cls, other)

    class Date(real_date, metaclass=Like):
        def __new__(cls, *arguments, **named):
            if cls is Date:
                return real_date(*arguments, **named)
            return super().__new__(cls, *arguments, **named)

        @classmethod
        def today(cls):
            return cls.fromtimestamp(time.time())

    class Moment(real_moment, metaclass=Like):
        def __new__(cls, *arguments, **named):
            if cls is Moment:
                return real_moment(*arguments, **named)
            return super().__new__(cls, *arguments, **named)

        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def today(cls):
            return cls.now()

        @classmethod
        def utcnow(cls):
            return cls.now(datetime.timezone.utc).replace(tzinfo=None)

    reals = {Date: real_date, Moment: real_moment}
    for made, name in ((Date, "date"), (Moment, "datetime")):
        made.__name__ = made.__qualname__ = name
        made.__module__ = "datetime"
        setattr(datetime, name, made)
    _keep_real_values(reals)


def _keep_real_values(reals):
    """Lets `pickle`, `copy` and `sqlite3` take values of the real classes, whose names are now those of others."""
    import copyreg

    for made, real in reals.items():
        copyreg.pickle(real, lambda value, made=made: (made, *value.__reduce_ex__(4)[1:]))
    try:
        import _sqlite3
    except ImportError:
        return
    register = _sqlite3.register_adapter
    # sqlite3 registers its own functions for dates where it is loaded, which is later.
    _sqlite3.register_adapter = lambda kind, adapter: register(reals.get(kind, kind), adapter)
