export * from '@millrace/log/indexeddb';
