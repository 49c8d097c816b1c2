// One process of the chaos, which does what its order says until it dies: process.ts <order>.
import type { Socket } from 'node:net';
import { sqliteLog } from '@millrace/log/sqlite';
import type { OnPoint } from '../../packages/log/src/storage/record-store.ts';
import { drive } from './driver.ts';
import type { Order } from './orders.ts';
import { produce } from './producer.ts';
import { read } from './reader.ts';
import { submit } from './submitter.ts';
import { say } from './teller.ts';

function dyingAt(death: Order['death']): OnPoint | undefined {
  if (death === undefined) return undefined;
  let left = death.passes;
  return (point) => {
    if (point === death.point && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}

/** Nobody is left to be told anything when the process that started this one is gone. */
function endWithParent(): void {
  const pipe = process.stdin as Socket;
  pipe.resume().unref();
  pipe.on('close', () => process.exit(1));
}

async function run(order: Order): Promise<void> {
  if (order.role === 'nobody') return;
  // A producer reads what comes, and so hears the end of it.
  if (order.role !== 'producer') endWithParent();
  const log = sqliteLog({ path: order.path, onPoint: dyingAt(order.death) });
  switch (order.role) {
    case 'driver':
      await drive(log, order);
      break;
    case 'producer':
      await produce(log, order.name, order.seed);
      break;
    case 'submitter':
      await submit(log, order);
      break;
    case 'reader':
      await read(log, order);
      break;
  }
  await log.close();
}

try {
  await run(JSON.parse(process.argv[2] ?? '{}') as Order);
} catch (error) {
  say({
    type: 'failed',
    why: error instanceof Error ? (error.stack ?? error.message) : `${error}`,
  });
  process.exitCode = 1;
}
