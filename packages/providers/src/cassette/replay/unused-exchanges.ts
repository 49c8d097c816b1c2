import type { Cassette, RecordedExchange, RecordedRequest } from '../cassette.ts';
import { CassetteError } from '../cassette-error.ts';
import { parseUrl } from '../redact/redact-url.ts';
import { requestDifferences } from './request-differences.ts';

/** The exchanges that have not answered a request yet. */
export class UnusedExchanges {
  readonly #unused: Map<number, RecordedExchange>;
  readonly #count: number;
  #requests = 0;

  constructor({ exchanges }: Cassette) {
    this.#unused = new Map(exchanges.entries());
    this.#count = exchanges.length;
  }

  /** The first that was recorded for such a request: requests that run at once may change places. */
  take(request: RecordedRequest): RecordedExchange {
    this.#requests += 1;
    let differences: readonly string[] | undefined;
    for (const [index, exchange] of this.#unused) {
      const found = requestDifferences(exchange.request, request);
      if (found.length === 0) {
        this.#unused.delete(index);
        return exchange;
      }
      // Told of is the next in line: most often it is the one that was meant.
      differences ??= found;
    }
    throw this.#refusal(request, differences);
  }

  #refusal({ method, url }: RecordedRequest, differences?: readonly string[]): CassetteError {
    const path = parseUrl(url)?.pathname;
    const what = `Cannot answer request ${this.#requests}, ${method} ${path}`;
    const place = { request: this.#requests, method, path };
    if (differences === undefined) {
      const why = `all ${this.#count} exchanges of the cassette have been used; record it again`;
      return new CassetteError('exhausted', `${what}: ${why}`, place);
    }
    const [next] = this.#unused.keys();
    const why = `exchange ${next}, the next unused one, differs in ${differences.join(', ')}`;
    const advice = 'record it again, or name in `secrets` what is secret in the request';
    return new CassetteError('no_match', `${what}: ${why}; ${advice}`, {
      ...place,
      exchange: next,
    });
  }
}
