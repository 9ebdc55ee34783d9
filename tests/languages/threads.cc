/* Locks with one thread, and the failure to start another one. */
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <future>
#include <iostream>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <system_error>
#include <thread>

using namespace std;
using namespace chrono_literals;

int main(int argc, char **)
{
	mutex plain;
	{
		scoped_lock lock(plain);
		cout << (plain.native_handle() != nullptr) << plain.try_lock() << endl;
	}
	recursive_mutex twice;
	lock_guard one(twice), two(twice);
	timed_mutex timed;
	cout << timed.try_lock_for(1ms) << timed.try_lock_for(1ms) << ' ';
	shared_mutex shared;
	shared_lock read(shared), also(shared);
	cout << shared.try_lock() << ' ';
	condition_variable condition;
	unique_lock lock(plain);
	cout << (condition.wait_for(lock, 2ms) == cv_status::timeout)
	     << condition.wait_for(lock, 1ms, [] { return false; })
	     << (condition.wait_until(lock, chrono::system_clock::now() + 2ms) == cv_status::timeout) << ' ';
	condition.notify_all();
	condition_variable_any any;
	cout << (any.wait_for(lock, 1ms) == cv_status::timeout) << '\n';
	latch done(2);
	done.count_down();
	cout << done.try_wait();
	done.arrive_and_wait();
	cout << done.try_wait() << ' ';
	int phases = 0;
	barrier meet(1, [&]() noexcept { phases++; });
	meet.arrive_and_wait();
	meet.arrive_and_wait();
	cout << phases << ' ';
	counting_semaphore<4> slots(1);
	slots.acquire();
	cout << slots.try_acquire() << slots.try_acquire_for(1ms);
	slots.release();
	cout << slots.try_acquire() << ' ';
	atomic<int> value = 3;
	value.wait(2);
	value.notify_all();
	atomic<long double> wide = 1.0L;
	wide = wide + 1;
	atomic_flag flag;
	cout << value.fetch_add(4) << ' ' << wide << ' ' << flag.test_and_set() << flag.test() << ' ';
	struct pair16 { long a, b; };
	atomic<pair16> both{{1, 2}};
	pair16 old{1, 2};
	cout << both.compare_exchange_strong(old, {3, 4}) << both.load().b << '\n';
	promise<int> given;
	auto waits = given.get_future();
	cout << (waits.wait_for(1ms) == future_status::timeout) << ' ';
	given.set_value(8);
	cout << waits.get() << ' ';
	packaged_task<int(int)> task([](int number) { return number * number; });
	task(9);
	cout << task.get_future().get() << ' ' << async(launch::deferred, [] { return 5; }).get() << ' ';
	try {
		future<int> lost;
		{
			promise<int> broken;
			lost = broken.get_future();
		}
		lost.get();
	} catch (const future_error &error) {
		cout << error.code() << '\n';
	}
	stop_source stop;
	stop_callback called(stop.get_token(), [] { cout << "stopped "; });
	stop.request_stop();
	this_thread::sleep_for(2ms);
	this_thread::yield();
	auto here = this_thread::get_id();
	cout << (here == this_thread::get_id()) << (here == thread::id()) << '\n';
	if (argc > 1) {         /* on a node */
		cout << thread::hardware_concurrency() << ' ' << async([] { return 6; }).get() << ' ';
		try {
			thread([] {}).join();
		} catch (const system_error &error) {
			cout << error.code() << ' ' << error.what() << ' ';
		}
		try {
			(void)async(launch::async, [] {});
		} catch (const system_error &error) {
			cout << error.code() << endl;
		}
		timed.lock();           /* forever, as the thread itself holds it */
	}
}
