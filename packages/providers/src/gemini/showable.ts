import type { FilePart, JsonObject, MediaPart } from '@millrace/core';

const showable =
  /^(?:(?:audio|video|text)\/|image\/(?:png|jpe?g|webp|heic|heif|bmp)$|application\/(?:pdf|json)$)/;

/** Is it loaded, or elsewhere, and of a type that the API takes? What the user gives need not be. */
export function isShowable({ source, mimeType }: MediaPart | FilePart): boolean {
  return source.type !== 'blob' && showable.test(mimeType);
}

/** Stands for what a tool or a model made and what cannot be shown, so that the session goes on. */
export function namedPart({ mimeType }: MediaPart | FilePart): JsonObject {
  return { text: `[${mimeType.toWellFormed()}, not shown]` };
}
