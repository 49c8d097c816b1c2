/** Where work belongs that crosses processes, as W3C Trace Context writes it in headers. */
export interface TraceContext {
  /** `00-<trace id>-<id of the span that it is under>-<flags>` */
  readonly traceparent: string;
  /** What tracing systems add for themselves. It is passed on as it came. */
  readonly tracestate?: string;
}

/** What a `traceparent` says. */
export interface TraceParent {
  /** 32 hexadecimal digits, not all of them zero. */
  readonly traceId: string;
  /** Of the span that what follows is under: 16 hexadecimal digits, not all of them zero. */
  readonly spanId: string;
  /** From 0 to 255; of these we know the lowest two: sampled, and random trace id. */
  readonly flags: number;
}

const sampled = 1;
const knownFlags = 3;
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;
const allZero = /^0+$/;
/** Longer ones of versions to come are not read: nobody needs that much. */
const maxLength = 512;

/** Undefined for what is none: whoever gets such a one goes on as if there were nothing. */
export function parseTraceparent(text: string): TraceParent | undefined {
  if (text.length > maxLength) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(text) ?? [];
  if (version === undefined || version === 'ff') return undefined;
  // A version that is not ours may say more after a hyphen; ours says nothing more.
  if (version === '00' && more !== undefined) return undefined;
  if (allZero.test(traceId) || allZero.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** In version 00, with the flags that this has. Throws a RangeError for ids that are none. */
export function formatTraceparent({ traceId, spanId, flags }: TraceParent): string {
  const known = (flags & knownFlags).toString(16).padStart(2, '0');
  const text = `00-${traceId}-${spanId}-${known}`;
  if (parseTraceparent(text) !== undefined) return text;
  throw new RangeError(
    'Cannot write a traceparent: a trace id has 32 hexadecimal digits and a span id 16, not all of them 0',
  );
}

/**
 * Of two headers as they came. What is none counts as none; a bad tracestate is left out alone. A later
 * version is written as the one that we know.
 */
export function traceContext(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  const parent = typeof traceparent === 'string' ? parseTraceparent(traceparent.trim()) : undefined;
  if (parent === undefined) return undefined;
  const state = typeof tracestate === 'string' ? tracestate.trim() : '';
  const written = formatTraceparent(parent);
  return { traceparent: written, ...(isTracestate(state) && { tracestate: state }) };
}

/** The same trace under another span. Throws a RangeError where the trace, or the id, is none. */
export function underSpan({ traceparent, tracestate }: TraceContext, spanId: string): TraceContext {
  const { traceId = '', flags = 0 } = parseTraceparent(traceparent) ?? {};
  const moved = formatTraceparent({ traceId, spanId, flags });
  return { traceparent: moved, ...(tracestate !== undefined && { tracestate }) };
}

/** Whether whoever began it wants it kept. */
export function isSampled({ flags }: Pick<TraceParent, 'flags'>): boolean {
  return (flags & sampled) === sampled;
}

/** So much has to be passed on; what is longer is not. */
const maxTracestateLength = 512;
const maxMembers = 32;
const key = /^[a-z0-9][a-z0-9_*/-]{0,255}$/;
const tenantKey = /^[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13}$/;
/** Printable ASCII but comma and equals sign, and no blank at its end. */
const value = /^[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/** Is it a list of `key=value` that can be passed on? */
export function isTracestate(text: string): boolean {
  if (text === '' || text.length > maxTracestateLength) return false;
  const members = text.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''));
  // Empty ones are allowed, and count for nothing.
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
