/* C and C++ in one program, with messages from each. With an argument an event handler throws. */
#include "portals.h"

#include <margay.h>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

void cxx_check(int status, const char *what)
{
	if (status != PTL_OK)
		throw std::runtime_error(std::string(what) + ": " + std::to_string(status));
}

static bool handler_throws;
static volatile int handled;

static void handler(ptl_event_t *event)
{
	if (handler_throws)
		throw std::domain_error("event " + std::to_string(event->type));
	handled = handled + 1;
}

/* Memory for the previous rank's line. */
class inbox {
public:
	inbox(ptl_handle_ni_t ni, ptl_eq_handler_t function)
	{
		ptl_process_id_t any_process{};
		any_process.nid = PTL_NID_ANY, any_process.pid = PTL_PID_ANY;
		ptl_handle_me_t me;
		ptl_md_t md{};
		cxx_check(PtlEQAlloc(ni, 16, function, &queue), "PtlEQAlloc");
		cxx_check(PtlMEAttach(ni, PORTAL, any_process, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me),
			  "PtlMEAttach");
		md.start = line.data(), md.length = line.size(), md.threshold = PTL_MD_THRESH_INF;
		md.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
		md.eq_handle = queue;
		cxx_check(PtlMDAttach(me, md, PTL_RETAIN, &handle), "PtlMDAttach");
	}
	std::string text() const { return line.data(); }

private:
	std::vector<char> line = std::vector<char>(LINE);
	ptl_handle_eq_t queue;
	ptl_handle_md_t handle;
};

static int throws(int number)
{
	throw number;
}

int main(int argc, char **)
{
	ptl_handle_ni_t ni;
	int interfaces;

	cxx_check(PtlInit(&interfaces), "PtlInit");
	cxx_check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, nullptr, nullptr, &ni), "PtlNIInit");
	handler_throws = argc > 1;
	inbox box(ni, handler);
	cxx_check(PtlNIBarrier(ni), "PtlNIBarrier");
	try {
		std::ostringstream line;
		line << "from rank " << margay_rank();
		c_send(ni, line.str().c_str());
		while (!handled)
			std::this_thread::yield();
	} catch (const std::exception &error) {
		std::cout << "main caught " << error.what() << std::endl;
	}
	try {
		c_calls(throws, 5);
	} catch (int number) {
		std::cout << "rank " << margay_rank() << " got \"" << box.text() << "\", caught " << number
			  << std::endl;
	}
	try {
		ptl_handle_eq_t none;
		cxx_check(PtlEQAlloc(ni, (ptl_size_t)-1, nullptr, &none), "PtlEQAlloc");
	} catch (const std::runtime_error &error) {
		std::cout << "rank " << margay_rank() << ": " << error.what() << std::endl;
	}
	cxx_check(PtlNIBarrier(ni), "PtlNIBarrier");
	cxx_check(PtlNIFini(ni), "PtlNIFini");
}
