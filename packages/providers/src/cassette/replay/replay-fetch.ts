import { type Clock, systemClock } from '../../transport/clock.ts';
import { describeRequest, Room, tapRequest } from '../captured-request.ts';
import {
  type Cassette,
  CassetteError,
  defaultCassetteLimits,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
} from '../cassette.ts';
import { createRedactor } from '../redact/redactor.ts';
import { type ResponseHead, responseLike } from '../web-platform.ts';
import { errorAtEnd, type Pace, type ReplaySpeed, replayBody, startPace } from './replay-body.ts';
import { UnusedExchanges } from './unused-exchanges.ts';

export interface ReplayOptions {
  /** `instant` unless told. */
  readonly speed?: ReplaySpeed | undefined;
  /** What stands in the requests now where a secret stood when they were recorded. */
  readonly secrets?: readonly string[] | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * A fetch that answers from a cassette, with the same bytes in the same pieces, and touches no network.
 * Each exchange answers once, the first unused one that has the method, path, query and body of the
 * request; where none has, the promise is rejected with a `CassetteError` that says what differs.
 *
 * @example
 * const replay = replayFetch(decodeCassette(text), { speed: 'instant' });
 * const response = await replay('https://api.example.com/v1/models');
 */
export function replayFetch(cassette: Cassette, options: ReplayOptions = {}): typeof fetch {
  const { speed = 'instant', clock = systemClock } = options;
  checkSpeed(speed);
  const redactor = createRedactor(options.secrets);
  const unused = new UnusedExchanges(cassette);
  return async (input, init) => {
    const pace = startPace(speed, clock);
    const request = tapRequest(input, init, new Room(defaultCassetteLimits.maxExchangeBytes));
    const { url, signal } = request;
    const asked = await breakOff<RecordedRequest>(signal, (resolve, reject) => {
      describeRequest(request, redactor).then(resolve, reject);
      return request.copy.stop;
    });
    return answer(unused.take(asked), { url, signal, pace });
  };
}

function checkSpeed(speed: ReplaySpeed): void {
  if (speed === 'instant' || (Number.isFinite(speed) && speed > 0)) return;
  const message = `Cannot replay at speed ${speed}: give a number over 0, or 'instant'`;
  throw new CassetteError('bad_option', message, { path: 'speed' });
}

interface Replay {
  readonly url: string;
  readonly signal: AbortSignal | undefined;
  readonly pace: Pace;
}

async function answer({ response, end }: RecordedExchange, replay: Replay): Promise<Response> {
  const { signal, pace } = replay;
  const { atMs } = response ?? end;
  await breakOff<void>(signal, (resolve) => pace(atMs, resolve));
  if (response === undefined) throw errorAtEnd(end);
  const hasBody = !isNullBody(response.status);
  return responseLike(
    headOf(response, replay.url),
    hasBody ? replayBody(response, end, pace, signal) : null,
  );
}

/** Statuses that the standard gives no body. */
function isNullBody(status: number): boolean {
  return status < 200 || status === 204 || status === 205 || status === 304;
}

function headOf({ status, statusText = '', headers }: RecordedResponse, url: string): ResponseHead {
  const rest = { redirected: false, type: 'default' } as const;
  return { status, statusText, headers: new Headers(headers), url, ...rest };
}

/** A promise that the signal breaks off with its reason; what was begun is then taken back. */
export async function breakOff<T>(
  signal: AbortSignal | undefined,
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const takeBack = begin(resolve, reject);
  const onAbort = () => {
    takeBack();
    reject(signal?.reason);
  };
  signal?.addEventListener('abort', onAbort);
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
