from restow.backoff import Backoff, News, Retries

BACKOFF = Backoff(first_s=0.5, longest_s=3.0)


def test_pauses_double_up_to_the_longest() -> None:
    assert [BACKOFF.pause_s(failures) for failures in range(6)] == [0.0, 0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_thousand_failures_overflow_nothing() -> None:
    assert Backoff(1e-3, 30.0, factor=10.0).pause_s(100_000) == 30.0


def test_each_target_waits_for_itself() -> None:
    retries = Retries(BACKOFF)
    retries.failed("orders", now_s=10.0)
    retries.failed("orders", now_s=20.0)
    assert [retries.is_waiting("orders", at_s) for at_s in (20.0, 20.9, 21.0)] == [True, True, False]
    assert not retries.is_waiting("clicks", 20.0)
    assert (retries.pause_s("orders"), retries.pause_s("clicks")) == (1.0, 0.0)


def test_a_failure_is_news_once_and_again_when_its_reason_changes() -> None:
    retries = Retries(BACKOFF)
    news = [retries.failed("orders", 0.0, reason) for reason in ("full", "full", "read-only", "read-only")]
    assert news == [True, False, True, False]


def test_a_recovery_is_news_once_and_resets_the_pause() -> None:
    retries = Retries(BACKOFF)
    assert not retries.succeeded("orders")
    retries.failed("orders", 0.0)
    retries.failed("orders", 0.0)
    assert retries.succeeded("orders")
    assert not retries.succeeded("orders")
    retries.failed("orders", 0.0)
    assert retries.pause_s("orders") == 0.5


def test_a_forgotten_target_starts_anew() -> None:
    retries = Retries(BACKOFF)
    retries.failed("orders", 0.0, "full")
    retries.failed("clicks", 0.0, "full")
    retries.keep(["clicks"])
    assert not retries.is_waiting("orders", 0.1)
    assert retries.is_waiting("clicks", 0.1)
    assert retries.failed("orders", 0.0, "full")


def test_a_line_is_new_until_it_is_repeated_and_again_when_it_changes() -> None:
    news = News()
    lines = [("orders-0", "gap"), ("orders-0", "gap"), ("orders-1", "gap"), ("orders-0", "lost"), ("orders-0", "gap")]
    assert [news.is_new(subject, line) for subject, line in lines] == [True, False, True, True, True]


def test_the_end_of_a_condition_is_news_once() -> None:
    news = News()
    assert not news.is_over("brokers")
    news.is_new("brokers", "no answer")
    assert [news.is_over("brokers"), news.is_over("brokers")] == [True, False]
    assert news.is_new("brokers", "no answer")
