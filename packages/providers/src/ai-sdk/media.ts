import { fromBase64, type MediaPart, type Source } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { Owner } from '../history/own-parts.ts';
import type { PartOf } from './model.ts';
import { stateOf } from './provider-state.ts';

/** A file that the model made. */
export function mediaOf(part: PartOf<'file'>, owner: Owner): MediaPart {
  const metadata = 'providerMetadata' in part ? part.providerMetadata : undefined;
  const providerState = stateOf(owner, metadata);
  return {
    kind: 'media',
    mimeType: part.mediaType,
    source: sourceOf(part.data),
    ...(providerState === undefined ? {} : { providerState }),
  };
}

function sourceOf(data: PartOf<'file'>['data']): Source {
  if (typeof data === 'string' || data instanceof Uint8Array) return bytesOf(data);
  if (data.type === 'data') return bytesOf(data.data);
  return { type: 'url', url: data.originalUrl ?? String(data.url) };
}

function bytesOf(data: string | Uint8Array): Source {
  const bytes = typeof data === 'string' ? decoded(data) : data;
  if (bytes === undefined) throw fault('protocol_error', 'the bytes of a file are not base64');
  return { type: 'bytes', bytes };
}

/** Also without padding, and in the alphabet of addresses. */
function decoded(base64: string): Uint8Array | undefined {
  const digits = base64.replaceAll('-', '+').replaceAll('_', '/');
  return fromBase64(digits.padEnd(Math.ceil(digits.length / 4) * 4, '='));
}
