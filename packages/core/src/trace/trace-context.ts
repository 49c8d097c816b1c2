/**
 * The position of work in a trace across processes, as W3C Trace Context defines it for headers.
 */
export interface TraceContext {
  /** `00-<trace id>-<id of the parent span>-<flags>` */
  readonly traceparent: string;
  /** Data of tracing systems, which is passed on unchanged. */
  readonly tracestate?: string;
}

/** The fields of a `traceparent`. */
export interface TraceParent {
  /** 32 hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** The id of the parent span: 16 hexadecimal digits, not all zero. */
  readonly spanId: string;
  /** From 0 to 255. The lowest two bits are known: sampled, and random trace id. */
  readonly flags: number;
}

const sampled = 1;
const knownFlags = 3;
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;
const allZero = /^0+$/;
/** Longer headers of future versions are not read. */
const maxLength = 512;

/** Returns undefined if the text is invalid. Callers then continue without a trace. */
export function parseTraceparent(text: string): TraceParent | undefined {
  if (text.length > maxLength) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(text) ?? [];
  if (version === undefined || version === 'ff') return undefined;
  // Version 00 has no further fields; a later version may have some after a hyphen.
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
 * Reads a trace context from two headers. An invalid traceparent gives undefined; an invalid
 * tracestate is dropped. A later version is converted to version 00.
 */
export function traceContext(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  const parent = typeof traceparent === 'string' ? parseTraceparent(traceparent.trim()) : undefined;
  if (parent === undefined) return undefined;
  const state = typeof tracestate === 'string' ? tracestate.trim() : '';
  const written = formatTraceparent(parent);
  return { traceparent: written, ...(isTracestate(state) && { tracestate: state }) };
}

/**
 * Returns the same trace with another parent span. Throws a RangeError if the trace or the id is
 * invalid.
 */
export function underSpan({ traceparent, tracestate }: TraceContext, spanId: string): TraceContext {
  const { traceId = '', flags = 0 } = parseTraceparent(traceparent) ?? {};
  const moved = formatTraceparent({ traceId, spanId, flags });
  return { traceparent: moved, ...(tracestate !== undefined && { tracestate }) };
}

/** Returns whether the caller that started the trace wants it recorded. */
export function isSampled({ flags }: Pick<TraceParent, 'flags'>): boolean {
  return (flags & sampled) === sampled;
}

/** The specification requires passing on this many characters. Longer values are dropped. */
const maxTracestateLength = 512;
const maxMembers = 32;
const key = /^[a-z0-9][a-z0-9_*/-]{0,255}$/;
const tenantKey = /^[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13}$/;
/** Printable ASCII except comma and equals sign, without a space at the end. */
const value = /^[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/** Returns whether the text is a list of `key=value` that can be passed on. */
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
