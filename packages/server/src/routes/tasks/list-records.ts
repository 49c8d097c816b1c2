import { encodeBatch, sessionId } from '@millrace/core';
import { z } from 'zod';
import { jsonObjectSchema } from '../../contract/content.ts';
import { StreamReply } from '../../http/reply.ts';
import { route } from '../../http/route.ts';
import { taskIdParams } from '../path-params.ts';

/** Roughly, of one page; at least one record comes. */
const pageBytes = 2 ** 20;

/** Streams put appends together; whoever looks at a session moment by moment wants each of them. */
export const listRecords = route({
  method: 'GET',
  path: '/tasks/{task_id}/records',
  summary: 'The records of a task as its log has them, none put together, from an offset on',
  params: taskIdParams,
  query: z.object({ from: z.int().min(0).default(0) }),
  reply: z.object({ after: z.int(), through: z.int(), records: z.array(jsonObjectSchema) }),
  async handle({ params, query: { from } }, { service, log }) {
    const { id } = await service.tasks.get({ id: params.task_id });
    const session = sessionId(id);
    const isKnown = from > 0 || (await log.info(session)) !== undefined;
    const batch = isKnown
      ? await log.read(session, { from, maxBytes: pageBytes })
      : { after: 0, through: 0, records: [] };
    const bytes = Buffer.from(encodeBatch(batch));
    return new StreamReply(async (response) => {
      response.writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': bytes.length,
        'cache-control': 'no-store',
      });
      response.end(bytes);
    });
  },
});
