/**
 * The position of some work in a trace across processes, in the form of the two headers of W3C
 * Trace Context.
 */
export interface TraceContext {
  /** The header `traceparent`: `00-<trace id>-<id of the parent span>-<flags>`. */
  readonly traceparent: string;
  /** Data of tracing systems, which Millrace forwards unchanged. */
  readonly tracestate?: string;
}

/** The fields of a `traceparent`. */
export interface TraceParent {
  /** The id of the trace: 32 hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** The id of the parent span: 16 hexadecimal digits, not all zero. */
  readonly spanId: string;
  /** A number from 0 to 255. Two bits have a meaning: sampled (1), and random trace id (2). */
  readonly flags: number;
}

const sampled = 1;
const knownFlags = 3;
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;
const allZero = /^0+$/;
/**
 * The maximum length of a header. Only a future version of the standard can have longer headers. They are
 * invalid here.
 */
const maxLength = 512;

/**
 * Reads a `traceparent` header. Returns undefined if it is invalid. Callers then continue without a
 * trace.
 */
export function parseTraceparent(text: string): TraceParent | undefined {
  if (text.length > maxLength) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(text) ?? [];
  if (version === undefined || version === 'ff') return undefined;
  // Version 00 has no further fields. A later version may have further fields after a hyphen.
  if (version === '00' && more !== undefined) return undefined;
  if (allZero.test(traceId) || allZero.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** Formats a `traceparent` of version 00. Throws a RangeError for invalid ids. */
export function formatTraceparent({ traceId, spanId, flags }: TraceParent): string {
  const known = (flags & knownFlags).toString(16).padStart(2, '0');
  const text = `00-${traceId}-${spanId}-${known}`;
  if (parseTraceparent(text) !== undefined) return text;
  throw new RangeError(
    'Cannot write a traceparent: a trace id has 32 hexadecimal digits and a span id 16, not all of them 0',
  );
}

/**
 * Reads a trace context from two headers. Returns undefined if the traceparent is invalid. An invalid
 * tracestate is dropped. A header of a later version is converted to version 00.
 */
export function traceContext(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  const parent = typeof traceparent === 'string' ? parseTraceparent(traceparent.trim()) : undefined;
  if (parent === undefined) return undefined;
  const state = typeof tracestate === 'string' ? tracestate.trim() : '';
  const written = formatTraceparent(parent);
  return { traceparent: written, ...(isTracestate(state) && { tracestate: state }) };
}

/** Returns the same trace with a new parent span. Throws a RangeError if the trace or the id is invalid. */
export function underSpan({ traceparent, tracestate }: TraceContext, spanId: string): TraceContext {
  const { traceId = '', flags = 0 } = parseTraceparent(traceparent) ?? {};
  const moved = formatTraceparent({ traceId, spanId, flags });
  return { traceparent: moved, ...(tracestate !== undefined && { tracestate }) };
}

/** Returns whether the process that started the trace requests that spans are recorded. */
export function isSampled({ flags }: Pick<TraceParent, 'flags'>): boolean {
  return (flags & sampled) === sampled;
}

/**
 * The maximum length of a tracestate that is forwarded. The specification requires at least 512 characters.
 */
const maxTracestateLength = 512;
const maxMembers = 32;
const key = /^[a-z0-9][a-z0-9_*/-]{0,255}$/;
const tenantKey = /^[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13}$/;
/** Matches printable ASCII except comma and equals sign, without a space at the end. */
const value = /^[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/** Returns whether the text is a valid list of `key=value` pairs, which can be forwarded. */
export function isTracestate(text: string): boolean {
  if (text === '' || text.length > maxTracestateLength) return false;
  const members = text.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''));
  // Empty members are allowed and ignored.
  const filled = members.filter((member) => member !== '');
  const keys = new Set(filled.map(keyOf));
  const areSound = filled.every(isMember) && keys.size === filled.length;
  return areSound && filled.length > 0 && filled.length <= maxMembers;
}

function keyOf(member: string): string {
  return member.slice(0, Math.max(0, member.indexOf('=')));
}

function isMember(member: string): boolean {
  const name = keyOf(member);
  return (key.test(name) || tenantKey.test(name)) && value.test(member.slice(name.length + 1));
}
