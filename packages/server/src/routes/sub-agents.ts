import { z } from 'zod';
import { recordBatchSchema, streamEventSchema } from '../contract/stream-schemas.ts';
import { type Route, route, StreamReply } from '../http/route.ts';
import { subAgentSession } from '../inspection/sub-agent-sessions.ts';
import { id, taskIdParams } from './route-schemas.ts';
import {
  eventStreamType,
  readCursor,
  recordsQuery,
  sendRecords,
  sendReferencedBlob,
  streamQuery,
} from './task-log.ts';

const params = taskIdParams.extend({ session_id: id });

/**
 * Routes to the sessions of sub-agents. A client that may read a task may also read the sessions of its
 * sub-agents, at any depth. Questions of sub-agents are answered with a command to the task.
 */
export const subAgentRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tasks/{task_id}/sub-agents/{session_id}/stream',
    summary: 'Stream the session of a sub-agent of a task as server-sent events',
    params,
    query: streamQuery,
    headers: ['last-event-id'],
    reply: streamEventSchema,
    replyType: eventStreamType,
    async handle({ params: asked, query: { view, from, start } }, context) {
      const { service, log, streams, headers, restricted } = context;
      const cursor = readCursor(headers['last-event-id'], from);
      const { id: task } = await service.tasks.get({ id: asked.task_id });
      const taskId = await subAgentSession(log, task, asked.session_id);
      const asking = { taskId, view, from: cursor, start, restricted };
      return new StreamReply((response) => streams.serve({ ...asking, response }));
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/sub-agents/{session_id}/records',
    runsInTurn: true,
    summary: 'List the records of the session of a sub-agent from an offset, without merging',
    params,
    query: recordsQuery,
    reply: recordBatchSchema,
    async handle({ params: asked, query }, { service, log }) {
      const { id: task } = await service.tasks.get({ id: asked.task_id });
      return sendRecords(log, await subAgentSession(log, task, asked.session_id), query);
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/sub-agents/{session_id}/blobs/{hash}',
    summary: 'Get the bytes of a blob that a message of a sub-agent refers to, or a range of them',
    params: params.extend({ hash: z.string().regex(/^[0-9a-f]{64}$/) }),
    reply: z.string(),
    replyType: 'application/octet-stream',
    headers: ['range'],
    async handle({ params: asked }, context) {
      const { id: task } = await context.service.tasks.get({ id: asked.task_id });
      const session = await subAgentSession(context.log, task, asked.session_id);
      return sendReferencedBlob(session, asked.hash, context);
    },
  }),
];
