import {
  type FilePart,
  type MediaPart,
  type ToolResultPart,
  toBase64,
  toolCallId,
} from '@millrace/core';
import type { protocol } from '@openai/agents';
import { elsewhere } from './source-of.ts';
import { userParts } from './user-parts.ts';

/** What a tool gave: its words, and what else it gave as attachments. */
export function resultPart(item: protocol.FunctionCallResultItem): ToolResultPart {
  const { callId, name, output, status } = item;
  const parts = userParts(typeof output === 'string' ? output : contentOf(output));
  const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  const attachments = parts.filter(isAttachment);
  return {
    ...{ kind: 'tool_result', toolCallId: toolCallId(callId), name, text },
    isError: status === 'incomplete',
    ...(attachments.length > 0 && { attachments }),
  };
}

type Output = Exclude<protocol.FunctionCallResultItem['output'], string>;
type Content = Extract<Output, readonly unknown[]>[number];

/** The older forms of an output say the same in other words. */
function contentOf(output: Output): readonly Content[] {
  if (Array.isArray(output)) return output;
  switch (output.type) {
    case 'text':
      return [{ type: 'input_text', text: output.text }];
    case 'image':
      return output.image === undefined
        ? []
        : [{ type: 'input_image', image: given(output.image) }];
    case 'file': {
      const { file } = output;
      const filename = typeof file === 'string' ? undefined : file.filename;
      return [{ type: 'input_file', file: given(file), filename }];
    }
  }
}

type Given =
  | string
  | { readonly url: string }
  | Inline
  | { readonly id: string }
  | { readonly fileId: string };
interface Inline {
  readonly data: string | Uint8Array;
  readonly mediaType?: string | undefined;
}

function given(source: Given): string {
  if (typeof source === 'string') return source;
  if ('url' in source) return source.url;
  if (!('data' in source)) throw elsewhere('an attachment');
  const { data, mediaType = 'application/octet-stream' } = source;
  if (typeof data === 'string' && data.startsWith('data:')) return data;
  return `data:${mediaType};base64,${typeof data === 'string' ? data : toBase64(data)}`;
}

function isAttachment(part: { readonly kind: string }): part is MediaPart | FilePart {
  return part.kind === 'media' || part.kind === 'file';
}
