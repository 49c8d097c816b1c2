import { parseJson } from '@millrace/core';
import { complaintOfFailure } from '../errors/complaint.ts';
import { fault, WireFault } from '../errors/wire-fault.ts';
import type { Exchange } from '../transport/exchange.ts';
import { readText } from '../transport/read-text.ts';

const maxErrorBodyBytes = 2 ** 16;

/** How long the body of an error is waited for. The status alone tells much. */
const errorBodyMs = 5000;

/** What a response with an error status complains of. */
export async function readFailure(response: Response, exchange: Exchange): Promise<WireFault> {
  const { status } = response;
  if (status === 0 || (status >= 300 && status < 400)) {
    return redirected(response);
  }
  exchange.linger(errorBodyMs);
  const { text } = await readText(exchange, maxErrorBodyBytes);
  const parsed = parseJson(text);
  const complaint = complaintOfFailure(parsed.ok ? parsed.value : undefined, text);
  return new WireFault({ ...complaint, status });
}

/** The query of the target may hold anything, and is not told. */
function redirected({ status, headers, url }: Response): WireFault {
  const target = URL.parse(headers.get('location') ?? '', url || undefined);
  const where = target === null ? '' : ` to ${target.origin}${target.pathname}`;
  const found = `the address redirects${where} (status ${status})`;
  return fault('invalid_request', `${found}; use its target as base URL`);
}
