"""A copy as a process of its own, which tests kill: `kafka_job.py CONTROLLER BOOTSTRAP TOPIC STREAM STEP [GROUP]`.

With a group it copies behind the group, again and again, until it is killed.
"""

import sys
import time

from aiopravega import PravegaConfig
from aiopravega.blocking import PravegaClient
from aiopravega.errors import PravegaError
from pravega_jobs.kafka import KafkaCluster, KafkaConfig, copy_topic

if __name__ == "__main__":
    controller, bootstrap, topic, stream, step, *groups = sys.argv[1:]
    with PravegaClient(PravegaConfig(controller_uri=controller)) as client:
        cluster = KafkaCluster(KafkaConfig({"bootstrap.servers": bootstrap}))
        while True:
            try:
                print(copy_topic(client, cluster, topic, stream, step_records=int(step), behind=groups), flush=True)
            except PravegaError as error:
                if not (groups and (error.retryable or "has committed no offset" in str(error))):
                    raise
                print(error, flush=True)  # Kafka is being killed, or the group has only begun
            if not groups:
                break
            time.sleep(0.5)
