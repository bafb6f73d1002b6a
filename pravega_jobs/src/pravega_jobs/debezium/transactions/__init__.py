"""Transactions of a database: counted by Debezium's events, so that a range ends where all of them are whole."""

from pravega_jobs.debezium.transactions.cuts import WholeTransactions, watch_of, whole_transactions

__all__ = ["WholeTransactions", "watch_of", "whole_transactions"]
