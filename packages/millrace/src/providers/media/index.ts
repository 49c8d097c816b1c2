export * from '@millrace/providers/media';
