import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { attachmentSchema } from '../../contract/content.ts';
import { ServerError } from '../../contract/server-error.ts';
import { type Route, type RouteContext, route, type StreamReply } from '../../http/route.ts';
import { taskIdParams } from '../route-schemas.ts';
import { blobReply } from './blob-reply.ts';

/** A media type with optional parameters, for example `text/plain; charset=utf-8`. */
const mediaType = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:;[\x20-\x7e]{1,100})?$/;

const uploadQuery = z.object({
  name: z
    .string()
    .min(1)
    .max(255)
    .refine((name) => name.isWellFormed() && !/\p{Cc}/u.test(name), 'it has control characters'),
  type: z.string().regex(mediaType).default('application/octet-stream'),
});

/** Routes for the files that clients upload for their messages. */
export const fileRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/tasks/{task_id}/files',
    summary:
      'Upload a file for a message of the task. The reply can be used as an attachment of the message',
    params: taskIdParams,
    query: uploadQuery,
    takesFile: true,
    status: 201,
    reply: attachmentSchema,
    handle: ({ params, query: { name, type } }, { service, bytes }) =>
      service.files.upload(params.task_id, { name, type, bytes: bytes ?? new Uint8Array() }),
  }),
  route({
    method: 'GET',
    path: '/tasks/{task_id}/files/{file_id}',
    summary: 'Get the bytes of an uploaded file, or a range of them',
    params: taskIdParams.extend({ file_id: z.string().min(1).max(256) }),
    reply: z.string(),
    replyType: 'application/octet-stream',
    headers: ['range'],
    async handle({ params: { task_id: task, file_id } }, context) {
      const { service } = context;
      const { mimeType, source } = await service.files.get(task, file_id);
      const reply = source.type === 'blob' && (await sendBlob({ ...source, mimeType }, context));
      if (reply) return reply;
      const message = `Cannot find the content of this file of task ${task}: it was uploaded too long ago. Upload it again`;
      throw new ServerError('not_found', message, { task });
    },
  }),
];

/** The media types that a browser may display. They cannot contain code. */
const inlineTypes = /^(?:image\/(?:png|jpeg|gif|webp|avif)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

interface SentBlob {
  readonly hash: string;
  readonly length: number;
  readonly mimeType: string;
}

type BlobContext = Pick<RouteContext, 'log' | 'headers' | 'drained'>;

/**
 * Returns a reply with the bytes of a blob. A type that a browser could run as code is sent as a download.
 * Returns undefined if the blob does not exist.
 */
export function sendBlob(
  { hash, length, mimeType }: SentBlob,
  { log: { blobs }, headers, drained }: BlobContext,
): Promise<StreamReply | undefined> {
  const isInline = inlineTypes.test(mimeType);
  return blobReply({
    ...{ blobs, hash, length, range: headers.range, ifRange: ifRange(headers), drained },
    headers: {
      'content-type': isInline ? mimeType : 'application/octet-stream',
      'content-disposition': isInline ? 'inline' : 'attachment',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-cache',
    },
  });
}

/** Returns the header `if-range`. Node's types do not contain it. */
function ifRange(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['if-range'];
  return value === undefined ? undefined : String(value);
}
