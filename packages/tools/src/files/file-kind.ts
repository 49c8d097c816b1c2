/** The kind of a file, detected from its first bytes. */
export type FileKind =
  | { readonly type: 'text' }
  | { readonly type: 'image'; readonly mimeType: string }
  /** A document that models accept. */
  | { readonly type: 'document'; readonly mimeType: 'application/pdf' }
  | { readonly type: 'binary'; readonly kind: string };

/** The number of bytes at the start of a file that are needed to detect its kind. */
export const sampleLength = 8192;

interface Signature {
  readonly at?: number;
  /** The expected bytes as Latin-1 text. */
  readonly bytes: string;
}

/** Image formats that models accept. */
const images: readonly (readonly [mimeType: string, first: Signature, ...others: Signature[]])[] = [
  ['image/png', { bytes: '\x89PNG\r\n\x1a\n' }],
  ['image/jpeg', { bytes: '\xff\xd8\xff' }],
  ['image/gif', { bytes: 'GIF87a' }],
  ['image/gif', { bytes: 'GIF89a' }],
  ['image/webp', { bytes: 'RIFF' }, { at: 8, bytes: 'WEBP' }],
];

/** Binary formats other than images. Their names appear in error messages. */
const binaries: readonly (readonly [kind: string, first: Signature, ...others: Signature[]])[] = [
  ['a ZIP archive', { bytes: 'PK\x03\x04' }],
  ['gzip data', { bytes: '\x1f\x8b' }],
  ['bzip2 data', { bytes: 'BZh' }, { at: 4, bytes: '1AY&SY' }],
  ['xz data', { bytes: '\xfd7zXZ\x00' }],
  ['Zstandard data', { bytes: '\x28\xb5\x2f\xfd' }],
  ['a 7z archive', { bytes: '7z\xbc\xaf\x27\x1c' }],
  ['a tar archive', { at: 257, bytes: 'ustar' }],
  ['an ELF program or library', { bytes: '\x7fELF' }],
  ['a Mach-O program or library', { bytes: '\xcf\xfa\xed\xfe' }],
  ['a WebAssembly module', { bytes: '\x00asm' }],
  ['an SQLite database', { bytes: 'SQLite format 3\x00' }],
  ['UTF-16 text', { bytes: '\xff\xfe' }],
  ['UTF-16 text', { bytes: '\xfe\xff' }],
  ['an MP4 or similar video', { at: 4, bytes: 'ftyp' }],
  ['WAV audio', { bytes: 'RIFF' }, { at: 8, bytes: 'WAVE' }],
  ['Ogg audio', { bytes: 'OggS' }],
  ['a WOFF font', { bytes: 'wOFF' }],
  ['a WOFF2 font', { bytes: 'wOF2' }],
];

/** Detects the kind of a file from its first bytes. */
export function fileKind(sample: Uint8Array): FileKind {
  // Latin-1 maps each byte to one character, so one string serves all comparisons.
  const start = Buffer.from(sample.subarray(0, 512)).toString('latin1');
  const has = (marks: readonly Signature[]) =>
    marks.every(({ at = 0, bytes }) => start.startsWith(bytes, at));
  const image = images.find(([, ...marks]) => has(marks));
  if (image !== undefined) return { type: 'image', mimeType: image[0] };
  if (start.startsWith('%PDF-')) return { type: 'document', mimeType: 'application/pdf' };
  const named = binaries.find(([, ...marks]) => has(marks));
  if (named !== undefined && (sample.includes(0) || isUnambiguous(named[1]))) {
    return { type: 'binary', kind: named[0] };
  }
  if (sample.includes(0)) return { type: 'binary', kind: 'binary data' };
  if (!isMostlyUtf8(sample))
    return { type: 'binary', kind: 'binary data, or text that is not UTF-8' };
  return { type: 'text' };
}

/** True if a text file cannot start with this signature. A text file can start with plain letters. */
function isUnambiguous({ bytes }: Signature): boolean {
  return /[^\x20-\x7e]/.test(bytes);
}

/**
 * True if the sample is UTF-8 text. It accepts a few invalid bytes, and a character that the end of the
 * sample cuts.
 */
function isMostlyUtf8(sample: Uint8Array): boolean {
  const bad = new TextDecoder().decode(sample).match(/\ufffd/g)?.length ?? 0;
  return bad <= 1 + sample.length / 10;
}
