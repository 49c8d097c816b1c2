import type { Attachment } from '@millrace/client';
import { useSyncExternalStore } from 'react';
import type { Labels } from '../../labels/labels.ts';
import { errorText } from '../state/error-text.ts';

/** A file that the user picked for a message. */
export interface PickedFile {
  readonly key: number;
  readonly file: File;
  readonly state: 'ready' | 'uploading' | 'failed';
  /** The reason why the upload failed. */
  readonly error?: string | undefined;
}

/** Uploads a file for a message of a task. */
export type UploadFile = (task: string, file: File) => Promise<Attachment>;

/** The limits for the files of one message. They are equal to the server's default limits. */
export const fileLimits = { count: 20, fileBytes: 10 * 2 ** 20, totalBytes: 20 * 2 ** 20 } as const;

const none: readonly PickedFile[] = [];

/**
 * Keeps the files that the user picked, one list for each draft. The files are only in memory, so a
 * reload drops them. A file is uploaded when the user sends the message.
 */
export class PickedFiles {
  readonly #byDraft = new Map<string, readonly PickedFile[]>();
  /** The finished uploads. A second try uploads only the missing files. */
  readonly #uploads = new Map<number, { readonly task: string; readonly attachment: Attachment }>();
  readonly #listeners = new Set<() => void>();
  #lastKey = 0;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Returns the files of a draft. Returns the same list until the files change. */
  of(draft: string): readonly PickedFile[] {
    return this.#byDraft.get(draft) ?? none;
  }

  /**
   * Adds the files that are within the limits. Returns the reasons why the other files were
   * refused.
   */
  add(draft: string, files: Iterable<File>, t: Labels): readonly string[] {
    const picked = [...this.of(draft)];
    const refused: string[] = [];
    for (const file of files) {
      const problem = problemOf(file, picked, t);
      if (problem !== undefined) refused.push(problem);
      else picked.push({ key: ++this.#lastKey, file, state: 'ready' });
    }
    this.#set(draft, picked);
    return refused;
  }

  remove(draft: string, key: number): void {
    this.#uploads.delete(key);
    this.#set(
      draft,
      this.of(draft).filter((one) => one.key !== key),
    );
  }

  /**
   * Uploads the files of a draft. If an upload fails, the list keeps all files and shows the reason
   * next to the failed file. The promise then rejects.
   */
  async upload(
    draft: string,
    task: string,
    send: UploadFile,
    t: Labels,
  ): Promise<readonly Attachment[]> {
    const attachments: Attachment[] = [];
    for (const { key, file } of this.of(draft)) {
      const known = this.#uploads.get(key);
      if (known?.task !== task) {
        this.#change(draft, { key, file, state: 'uploading' });
        try {
          this.#uploads.set(key, { task, attachment: await send(task, file) });
        } catch (reason) {
          this.#change(draft, { key, file, state: 'failed', error: errorText(reason, t) });
          throw new Error(t.fileNotSent(file.name, errorText(reason, t)), { cause: reason });
        }
        this.#change(draft, { key, file, state: 'ready' });
      }
      const upload = this.#uploads.get(key);
      if (upload !== undefined) attachments.push(upload.attachment);
    }
    return attachments;
  }

  /** Removes the files that were sent. Files that the user picked in the meantime stay. */
  removeSent(draft: string, sent: readonly PickedFile[]): void {
    for (const { key } of sent) this.remove(draft, key);
  }

  #change(draft: string, changed: PickedFile): void {
    this.#set(
      draft,
      this.of(draft).map((one) => (one.key === changed.key ? changed : one)),
    );
  }

  #set(draft: string, files: readonly PickedFile[]): void {
    if (files.length === 0) this.#byDraft.delete(draft);
    else this.#byDraft.set(draft, files);
    for (const listener of [...this.#listeners]) listener();
  }
}

function problemOf(file: File, picked: readonly PickedFile[], t: Labels): string | undefined {
  const { count, fileBytes, totalBytes } = fileLimits;
  if (picked.length >= count) return t.tooManyFiles(file.name, count);
  if (file.size === 0) return t.fileIsEmpty(file.name);
  if (file.size > fileBytes)
    return t.fileTooLarge(file.name, fileSize(file.size), fileSize(fileBytes));
  const total = picked.reduce((sum, one) => sum + one.file.size, file.size);
  if (total > totalBytes) return t.filesTooLarge(file.name, fileSize(totalBytes));
  return undefined;
}

/** Formats a number of bytes in B, KB or MB, as file managers do. */
export function fileSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [size, unit] = bytes < 2 ** 20 ? [bytes / 1024, 'KB'] : [bytes / 2 ** 20, 'MB'];
  return `${size < 10 ? Math.round(size * 10) / 10 : Math.round(size)} ${unit}`;
}

/** The picked files of this tab. */
export const pickedFiles: PickedFiles = new PickedFiles();

export function usePickedFiles(draft: string): readonly PickedFile[] {
  const read = () => pickedFiles.of(draft);
  return useSyncExternalStore(pickedFiles.subscribe, read, read);
}
