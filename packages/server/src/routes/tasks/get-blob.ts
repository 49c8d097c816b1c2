import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
import { StreamReply } from '../../http/reply.ts';
import { route } from '../../http/route.ts';
import { taskIdParams } from '../path-params.ts';
import { blobTypeOf } from './blob-type.ts';

/** What a browser may show by itself, because nothing in it can run. */
const shown = /^(?:image\/(?:png|jpeg|gif|webp|avif)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

export const getBlob = route({
  method: 'GET',
  path: '/tasks/{task_id}/blobs/{hash}',
  summary: 'Bytes that a message of the task refers to',
  params: taskIdParams.extend({ hash: z.string().regex(/^[0-9a-f]{64}$/) }),
  reply: z.string(),
  replyType: 'application/octet-stream',
  async handle({ params: { task_id: task, hash } }, { service, log }) {
    const { id } = await service.tasks.get({ id: task });
    const type = await blobTypeOf(log, id, hash);
    const bytes = type === undefined ? undefined : await log.blobs.get(hash);
    if (type === undefined || bytes === undefined) {
      const message = `Cannot find a blob of this hash in task ${id}: no message of it refers to one`;
      throw new ServerError('not_found', message, { task: id });
    }
    const isShown = shown.test(type);
    return new StreamReply(async (response) => {
      response.writeHead(200, {
        'content-type': isShown ? type : 'application/octet-stream',
        'content-length': bytes.length,
        'content-disposition': isShown ? 'inline' : 'attachment',
        'content-security-policy': "default-src 'none'; sandbox",
        'cache-control': 'private, no-cache',
        etag: `"${hash}"`,
      });
      response.end(bytes);
    });
  },
});
