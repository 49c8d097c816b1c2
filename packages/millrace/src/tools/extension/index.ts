export * from '@millrace/tools/extension';
