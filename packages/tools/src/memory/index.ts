export {
  type VectorEntry,
  type VectorMatch,
  type VectorQuery,
  type VectorStore,
  VectorStoreError,
  type VectorStoreErrorCode,
} from '../contract/vector-store.ts';
export { type InMemoryVectorStoreOptions, inMemoryVectorStore } from './in-memory-store.ts';
export {
  type EmbedTexts,
  type MemoryInput,
  type MemoryToolOptions,
  memoryTool,
  type ToolScope,
} from './memory-tool.ts';
export {
  openPostgresVectorStore,
  type PostgresClient,
  type PostgresVectorStoreOptions,
} from './postgres-store.ts';
export {
  type AddDocumentsOptions,
  addDocuments,
  type RetrievalInput,
  type RetrievalToolOptions,
  retrievalTool,
  type SourceDocument,
} from './retrieval-tool.ts';
export {
  openSqliteVectorStore,
  type SqliteVectorStore,
  type SqliteVectorStoreOptions,
} from './sqlite-store.ts';
