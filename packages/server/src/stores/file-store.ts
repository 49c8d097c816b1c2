import { createHash } from 'node:crypto';
import { type FilePart, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Content } from '../contract/content.ts';
import type { Row, Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { FileAttachment, FileService, UploadedFile } from '../contract/service.ts';
import { fromRowsError, notFoundError } from './row-access.ts';
import { assertUsable } from './task-status.ts';
import type { TaskStore } from './task-store.ts';

/** Maximum number of uploaded files in one message. */
const maxFiles = 20;
/** Maximum total size of the uploaded files in one message. Each model request loads all of them. */
const maxMessageBytes = 20 * 2 ** 20;
/** The prefix of each id of an uploaded file. Attachments with other ids belong to the application. */
const idStart = 'file_';
/** Maximum number of forks between a task and the task to which the file was uploaded. */
const maxForks = 100;

/**
 * Stores the files that clients upload for their messages. The log's blob store contains the bytes, and a row
 * contains the task of each file. A hash or an id alone therefore gives no access to files of other tasks.
 */
export class FileStore {
  readonly #rows: Rows;
  readonly #log: Log;

  constructor(rows: Rows, log: Log) {
    this.#rows = rows;
    this.#log = log;
  }

  /** Stores a file of a task. If the same task uploads the same file again, the id is the same. */
  async add(taskId: string, { name, type, bytes }: UploadedFile): Promise<FileAttachment> {
    if (bytes.length === 0) throw new ServerError('invalid', 'Cannot store an empty file');
    const { hash, length: size } = await this.#log.blobs.put(bytes);
    const identity = createHash('sha256').update(JSON.stringify([taskId, name, type, hash]));
    const id = `${idStart}${identity.digest('hex').slice(0, 40)}`;
    const row = { id, keys: { task_id: taskId }, data: { name, type, size, hash } };
    await this.#rows.put('files', row).catch((error) => {
      throw fromRowsError(error);
    });
    return { file_id: id, name, type, size };
  }

  /**
   * Returns a file of a task as a part. If the task is a fork, it also finds files of the original task.
   * Throws `not_found` if no file has this id.
   */
  async get(taskId: string, fileId: string): Promise<FilePart> {
    const row = fileId.startsWith(idStart) ? await this.#rows.get('files', fileId) : undefined;
    const part = row && (await this.#belongsTo(taskId, row)) ? toPart(row) : undefined;
    if (part === undefined) throw notFoundError('file', fileId);
    return part;
  }

  /** Returns the bytes of a file of a task. Throws `not_found` if no file has this id. */
  async read(taskId: string, fileId: string): Promise<Uint8Array> {
    const { source, name } = await this.get(taskId, fileId);
    const bytes = source.type === 'blob' ? await this.#log.blobs.get(source.hash) : undefined;
    if (bytes === undefined) throw expired(taskId, name);
    return bytes;
  }

  /**
   * Returns the uploaded files to which a message refers. Attachments with other ids belong to the
   * application, and the server does not read them. Throws `not_found` if a file is missing, and `too_large`
   * if the message has too many files.
   */
  async partsOf(taskId: string, content: Content | null | undefined): Promise<readonly FilePart[]> {
    const attachments = content?.type === 'text' ? (content.attachments ?? []) : [];
    const uploaded = attachments.filter(({ file_id }) => file_id.startsWith(idStart));
    if (uploaded.length > maxFiles) throw tooMany(taskId, `at most ${maxFiles} files`);
    const parts: FilePart[] = [];
    let size = 0;
    for (const { file_id } of uploaded) {
      const part = await this.get(taskId, file_id);
      const { source } = part;
      const isStored =
        source.type === 'blob' && (await this.#log.blobs.slice(source.hash, 0, 1)) !== undefined;
      if (!isStored) throw expired(taskId, part.name);
      size += source.length;
      if (size > maxMessageBytes)
        throw tooMany(taskId, `files of at most ${maxMessageBytes / 2 ** 20} MiB together`);
      parts.push(part);
    }
    return parts;
  }

  async #belongsTo(taskId: string, { keys }: Row): Promise<boolean> {
    let current: string | undefined = taskId;
    for (let forks = 0; current !== undefined && forks <= maxForks; forks++) {
      if (current === keys['task_id']) return true;
      current = (await this.#log.info(sessionId(current)))?.origin?.session;
    }
    return false;
  }
}

/** Creates the service for files. A client can upload a file only to a task that accepts messages. */
export function fileService(files: FileStore, tasks: Pick<TaskStore, 'get'>): FileService {
  return {
    async upload(taskId, file) {
      const { task } = await tasks.get({ id: taskId });
      assertUsable(taskId, task.status ?? 'RUNNING');
      return files.add(taskId, file);
    },
    async get(taskId, fileId) {
      await tasks.get({ id: taskId });
      return files.get(taskId, fileId);
    },
  };
}

function toPart({ id, data }: Row): FilePart {
  const source = {
    type: 'blob',
    hash: String(data['hash']),
    length: Number(data['size']),
  } as const;
  const metadata = { file_id: id };
  return {
    ...{ kind: 'file', name: String(data['name']), mimeType: String(data['type']) },
    ...{ source, metadata },
  };
}

/**
 * Returns the error for a file whose bytes were deleted. Files are deleted if no message refers to them for a
 * day.
 */
function expired(task: string, name: string): ServerError {
  const message = `Cannot find the content of the file ${JSON.stringify(name)}: it was uploaded too long ago. Upload it again`;
  return new ServerError('not_found', message, { task });
}

function tooMany(task: string, limit: string): ServerError {
  const message = `Cannot accept the files of this message: a message has ${limit}. Send several messages`;
  return new ServerError('too_large', message, { task });
}
