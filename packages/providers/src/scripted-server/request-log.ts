import { ScriptError } from './script-error.ts';
import type { ScriptedRequest } from './scripted-request.ts';

type Waiter = PromiseWithResolvers<ScriptedRequest>;

/** The requests that came, and those who wait for the next. */
export class RequestLog {
  readonly requests: ScriptedRequest[] = [];
  readonly #waiting: Waiter[] = [];
  #told = 0;
  #isClosed = false;

  add(request: ScriptedRequest): void {
    this.requests.push(request);
    const waiter = this.#waiting.shift();
    if (waiter === undefined) return;
    this.#told += 1;
    waiter.resolve(request);
  }

  /** The first request that no call of this returned yet. */
  next(): Promise<ScriptedRequest> {
    const request = this.requests[this.#told];
    if (request !== undefined) {
      this.#told += 1;
      return Promise.resolve(request);
    }
    if (this.#isClosed) return Promise.reject(closedError());
    const waiter = Promise.withResolvers<ScriptedRequest>();
    this.#waiting.push(waiter);
    return waiter.promise;
  }

  close(): void {
    this.#isClosed = true;
    for (const waiter of this.#waiting.splice(0)) waiter.reject(closedError());
  }
}

function closedError(): ScriptError {
  return new ScriptError('server_closed', 'No request will come: the scripted server is closed');
}
