import { createContext } from 'react';

/** Reads the blobs of the session that a text belongs to. */
export interface BlobReader {
  /** Returns the bytes of a blob. Rejects if no message of the session refers to it. */
  blob(hash: string): Promise<Blob>;
}

/**
 * The blobs of the session. Pictures of the text can refer to them. A text outside of a session has
 * none, and shows such pictures as text.
 */
export const BlobSource: React.Context<BlobReader | undefined> = createContext<
  BlobReader | undefined
>(undefined);
