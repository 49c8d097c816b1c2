import type { RecordedRequest } from '../cassette.ts';
import { keepHeaders } from '../redact/keep-headers.ts';
import { redactUrl } from '../redact/redact-url.ts';
import type { Redactor } from '../redact/redactor.ts';
import type { TappedRequest } from './tap-request.ts';

/** A request as a cassette has it, which is also the form in which requests are compared. */
export async function describeRequest(
  { method, url, headers, copy }: TappedRequest,
  redactor: Redactor,
): Promise<RecordedRequest> {
  const { bytes, isClipped } = await copy.body;
  return {
    method,
    url: redactUrl(url, redactor),
    headers: keepHeaders(headers, redactor),
    ...(bytes === undefined ? {} : { body: redactor.bytes(bytes) }),
    ...(isClipped === undefined ? {} : { isBodyClipped: isClipped }),
  };
}
