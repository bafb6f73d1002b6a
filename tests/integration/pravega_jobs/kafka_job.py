"""A copy as a process of its own, which tests kill: `python kafka_job.py CONTROLLER BOOTSTRAP TOPIC STREAM STEP`."""

import sys

from aiopravega import PravegaConfig
from aiopravega.blocking import PravegaClient
from pravega_jobs.kafka import KafkaCluster, KafkaConfig, copy_topic

if __name__ == "__main__":
    controller, bootstrap, topic, stream, step = sys.argv[1:]
    with PravegaClient(PravegaConfig(controller_uri=controller)) as client:
        cluster = KafkaCluster(KafkaConfig({"bootstrap.servers": bootstrap}))
        print(copy_topic(client, cluster, topic, stream, step_records=int(step)))
