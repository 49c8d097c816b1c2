export * from '@millrace/tools/mcp';
