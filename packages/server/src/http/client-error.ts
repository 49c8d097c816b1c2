import type { Socket } from 'node:net';
import { ServerError } from '../contract/server-error.ts';
import { errorReply } from './error-reply.ts';

/** Says what was wrong with something that is no request, and hangs up. */
export function onClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const { status = 400, body } = errorReply(refusalOf(error.code));
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${reasons[status] ?? 'Bad Request'}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  // Whoever goes on sending is not listened to.
  socket.destroySoon();
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

function refusalOf(code: string | undefined): ServerError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ServerError('headers_too_large', 'Cannot take headers of this size. Send fewer');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServerError(
        'request_timeout',
        'Cannot wait longer for the request. Send it faster',
      );
    default:
      return new ServerError('bad_request', 'Cannot read this as HTTP');
  }
}
