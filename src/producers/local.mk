# producers: connections of producers, limits, their pools, events and switches
noinst_LIBRARIES += libproducers.a
libproducers_a_SOURCES = \
	%D%/acceptor.c %D%/acceptor.h \
	%D%/catalog.c %D%/catalog.h \
	%D%/closing.c %D%/closing.h \
	%D%/endpoint.c %D%/endpoint.h \
	%D%/listener.c %D%/listener.h \
	%D%/listener_accept.c \
	%D%/listener_state.h \
	%D%/listener_packets.c \
	%D%/admission.c %D%/admission.h \
	%D%/mark_client.c %D%/mark_client.h \
	%D%/producers.c %D%/producers.h \
	%D%/producers_stats.c \
	%D%/producers_events.c \
	%D%/producers_state.h \
	%D%/receiver.c %D%/receiver.h \
	%D%/receivers.c %D%/receivers.h \
	%D%/user_limits.c %D%/user_limits.h \
	%D%/connection.c %D%/connection.h \
	%D%/fair_share.c %D%/fair_share.h \
	%D%/sync_rounds.c %D%/sync_rounds.h \
	%D%/user_turns.c %D%/user_turns.h
