// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON as in rt-app's files: with comments, trailing commas, repeated keys and keys without a value (which rt-app's workgen repairs). Keeps order and
//! places. The tokens come from jsonc-parser, whose tree cannot represent a key without a value.

use super::super::draft::Source;
use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};
use lop_machine::InputError;

/// Deepest nesting: rt-app's own files have six levels.
const MAX_DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Object(Vec<Member>),
    Array(Vec<Element>),
    String(String),
    /// As written.
    Number(String),
    Bool(bool),
    Null,
    /// A key without a value (`"suspend",`).
    Missing,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub key: String,
    /// Byte offset of the key.
    pub offset: usize,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Element {
    pub offset: usize,
    pub value: Value,
}

impl Value {
    /// Describes the value for errors.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Object(_) => "an object",
            Self::Array(_) => "an array",
            Self::String(_) => "a string",
            Self::Number(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::Null => "null",
            Self::Missing => "no value",
        }
    }
}

/// Parses a whole text, whose outermost value must be an object.
pub(super) fn parse(source: &Source) -> Result<Vec<Member>, InputError> {
    let options = ScannerOptions {
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let mut parser = Parser {
        scanner: Scanner::new(source.text, &options),
        source,
        token: None,
        start: 0,
    };
    parser.advance()?;
    parser.expect(&Token::OpenBrace, "an object '{ \"tasks\" : ... }'")?;
    let members = parser.members(1)?;
    match parser.token {
        None => Ok(members),
        Some(_) => Err(parser.error("expected nothing after the outermost object")),
    }
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    source: &'a Source<'a>,
    token: Option<Token<'a>>,
    start: usize,
}

impl<'a> Parser<'a> {
    /// The next token that is not a comment.
    fn advance(&mut self) -> Result<(), InputError> {
        loop {
            let token = self.scanner.scan().map_err(|error| {
                let message = format!("no JSON: {}", error.kind());
                InputError::new(self.source.file, message).at_line(error.line_display())
            })?;
            self.start = self.scanner.token_start();
            if !matches!(token, Some(Token::CommentLine(_) | Token::CommentBlock(_))) {
                self.token = token;
                return Ok(());
            }
        }
    }

    fn error(&self, message: impl Into<String>) -> InputError {
        let line = InputError::line_of(self.source.text, self.start);
        InputError::new(self.source.file, message).at_line(line)
    }

    fn found(&self) -> String {
        match &self.token {
            Some(token) => format!("'{}'", token.as_str()),
            None => "the end of the file".to_string(),
        }
    }

    fn expect(&mut self, token: &Token, what: &str) -> Result<(), InputError> {
        match self.token.as_ref() == Some(token) {
            true => self.advance(),
            false => Err(self.error(format!("expected {what}, found {}", self.found()))),
        }
    }

    /// Members up to the closing brace, which is consumed.
    fn members(&mut self, depth: usize) -> Result<Vec<Member>, InputError> {
        let mut members = Vec::new();
        loop {
            let offset = self.start;
            let key = match self.token.take() {
                Some(Token::CloseBrace) => {
                    self.advance()?;
                    return Ok(members);
                }
                Some(Token::String(key)) => key.into_owned(),
                other => {
                    self.token = other;
                    return Err(self.error(format!("expected a key in quotes or '}}', found {}", self.found())));
                }
            };
            self.advance()?;
            let value = match self.token {
                Some(Token::Colon) => {
                    self.advance()?;
                    self.value(depth)?
                }
                _ => Value::Missing,
            };
            members.push(Member { key, offset, value });
            self.separator(&Token::CloseBrace, "',' or '}'")?;
        }
    }

    /// A comma, which is optional before the end.
    fn separator(&mut self, end: &Token, what: &str) -> Result<(), InputError> {
        match &self.token {
            Some(Token::Comma) => self.advance(),
            Some(token) if token == end => Ok(()),
            _ => Err(self.error(format!("expected {what}, found {}", self.found()))),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, InputError> {
        if depth >= MAX_DEPTH {
            return Err(self.error(format!("expected at most {MAX_DEPTH} levels")));
        }
        let value = match self.token.take() {
            Some(Token::OpenBrace) => {
                self.advance()?;
                return Ok(Value::Object(self.members(depth + 1)?));
            }
            Some(Token::OpenBracket) => {
                self.advance()?;
                return Ok(Value::Array(self.elements(depth + 1)?));
            }
            Some(Token::String(text)) => Value::String(text.into_owned()),
            Some(Token::Number(text)) => Value::Number(text.to_string()),
            Some(Token::Boolean(value)) => Value::Bool(value),
            Some(Token::Null) => Value::Null,
            // rt-app's tutorial has booleans as in Python.
            Some(Token::Word("True")) => Value::Bool(true),
            Some(Token::Word("False")) => Value::Bool(false),
            other => {
                self.token = other;
                return Err(self.error(format!("expected a value, found {}", self.found())));
            }
        };
        self.advance()?;
        Ok(value)
    }

    fn elements(&mut self, depth: usize) -> Result<Vec<Element>, InputError> {
        let mut elements = Vec::new();
        loop {
            if self.token == Some(Token::CloseBracket) {
                self.advance()?;
                return Ok(elements);
            }
            let offset = self.start;
            elements.push(Element {
                offset,
                value: self.value(depth)?,
            });
            self.separator(&Token::CloseBracket, "',' or ']'")?;
        }
    }
}
