import { ClientError } from '../client-error.ts';
import { mayPass } from '../http/refusal.ts';

/** Coming back would not help. */
export function isFinal(error: ClientError): boolean {
  return error.code !== 'bad_answer' && !mayPass(error);
}

export function lost(cause?: unknown): ClientError {
  const message = 'The stream broke off. It is resumed from where it was';
  return new ClientError('unreachable', message, {}, { cause });
}

export function silent(): ClientError {
  const message = 'The stream has been silent for too long. It is opened again';
  return new ClientError('silent', message);
}

/** Who was cut off from the network has another address now, and its connections lead nowhere. */
export function moved(): ClientError {
  return new ClientError('unreachable', 'The network was gone. The stream is opened again');
}

export function gapAt(task: string, offset: number): ClientError {
  const message = `Cannot follow task ${task} after offset ${offset}: what came does not fit. It is read again`;
  return new ClientError('bad_answer', message, { task, offset });
}

/** Something that is no stream answered: a page that wants a login, for instance. */
export function noStream(task: string): ClientError {
  const message = `Cannot follow task ${task}: what answers is no stream of a Millrace server. Check the URL, and what is in between`;
  return new ClientError('unreachable', message, { task });
}
