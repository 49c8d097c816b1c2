import type { Log } from '@millrace/log';
import type { EventService } from '../contract/service.ts';
import { eventPlace, listEvents, readEvent } from './event-log.ts';
import { noSuch } from './row-errors.ts';
import type { TaskRows } from './task-rows.ts';

/** `assertTask` throws where there is no such task of that agent. */
export function eventService(
  log: Log,
  tasks: TaskRows,
  assertTask: (taskId: string, agentId: string) => Promise<void>,
): EventService {
  return {
    async get(id) {
      const place = eventPlace(id);
      const kept = place && (await tasks.find({ id: place.taskId }));
      if (place === undefined || kept === undefined) throw noSuch('event', id);
      return readEvent(log, kept.agentId, place);
    },
    async list(query) {
      await assertTask(query.taskId, query.agentId);
      return listEvents(log, query);
    },
  };
}
