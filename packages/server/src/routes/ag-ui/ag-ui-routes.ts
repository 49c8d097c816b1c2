import { snapshot } from '@millrace/log';
import { z } from 'zod';
import { type Route, route } from '../../http/route.ts';
import { notFoundError } from '../../stores/row-access.ts';
import { chatParams } from '../chat/chat-body.ts';
import { findThread, openRun } from './open-run.ts';
import { readRunInput, runInputSchema } from './run-input.ts';
import { streamRun } from './write-run.ts';

/**
 * Routes for clients of AG-UI 1.0, for example `new HttpAgent({ url: '…/agents/name/helper/ag-ui' })` of
 * `@ag-ui/client`. A thread is a task, and a run is a part of its log.
 *
 * - The thread id is the name or the id of the task. The first run creates the task.
 * - A repeated run id continues the same run. A request without new messages follows the newest run.
 * - A disconnect does not stop the run. `on_close=stop` stops it.
 */
export const agUiRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/agents/name/{agent_name}/ag-ui',
    summary:
      'Run an agent in the format of AG-UI 1.0. The body is a `RunAgentInput`. The reply is a stream of events. A repeated `runId` continues the same run',
    params: chatParams,
    query: z.object({
      on_close: z
        .enum(['continue', 'stop'])
        .optional()
        .describe('What a closed connection does to the run. Default: `continue`'),
    }),
    body: runInputSchema,
    isLarge: true,
    reply: z.looseObject({
      type: z.string().describe('The type of the event, for example TEXT_MESSAGE_CONTENT'),
    }),
    replyType: 'text/event-stream',
    async handle({ params, query, body }, context) {
      const request = readRunInput(body);
      const open = () => openRun(params.agent_name, request, context);
      const run = await context.inTurn(open, 'refuse');
      return streamRun(run, { stopsOnClose: query.on_close === 'stop' }, context);
    },
  }),
  route({
    method: 'POST',
    path: '/agents/name/{agent_name}/ag-ui/{thread_id}/stop',
    summary: 'Stop the run of a thread of AG-UI. Open streams end with the outcome `cancelled`',
    params: chatParams.extend({ thread_id: chatParams.shape.agent_name }),
    reply: z.object({ stopped: z.boolean().describe('False if no run was active') }),
    async handle({ params }, context) {
      const { service, log, trace } = context;
      const thread = await findThread(params.agent_name, params.thread_id, context);
      if (thread === undefined) throw notFoundError('thread', params.thread_id);
      const { run, asked, awaited } = await snapshot(log, thread.taskId);
      const isActive = run !== undefined || asked.length > 0 || awaited.length > 0;
      if (!isActive) return { stopped: false };
      const reason = 'The client stopped the run';
      await service.tasks.submit(thread.taskId, { type: 'abort', reason }, { trace });
      return { stopped: true };
    },
  }),
];
