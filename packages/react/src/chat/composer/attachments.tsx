import type { Attachment } from '@millrace/client';
import type { JsonValue } from '@millrace/core';
import { Suspense } from 'react';
import { lazyView } from '../../on-demand/lazy-view.tsx';

// Most messages have no files.
const AttachmentNames = lazyView(async () => (await import('./file-chips.tsx')).AttachmentNames);

/** Lists the files of a message by name and size. The code loads with the first file. */
export function Attachments({ files }: { readonly files: readonly Attachment[] }) {
  if (files.length === 0) return null;
  return (
    <Suspense fallback={null}>
      <AttachmentNames files={files} />
    </Suspense>
  );
}

/** Returns the attachments in stored data, and skips invalid entries. */
export function attachmentsIn(value: JsonValue | undefined): readonly Attachment[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry) => {
    const { file_id, name, type, size } = (entry ?? {}) as Readonly<Record<string, JsonValue>>;
    const isText = [file_id, name, type].every((text) => typeof text === 'string');
    return isText && typeof size === 'number' ? [entry as unknown as Attachment] : [];
  });
}
